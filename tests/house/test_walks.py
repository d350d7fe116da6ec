"""Two of the walks that CONTRIBUTING shows, traced; the third needs a real Label Studio: tests/e2e."""

from __future__ import annotations

from pathlib import Path

import oversight as ov
from oversight.harness.cli.main import main
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Partitioned, one_expert_per_class
from tests.cli.search_study import answer, lay_out
from tests.fakes.openai_server import Reply, fake_openai
from tests.house.walks import assert_short, follow

DYE = "so says model 7f3a"
CLASSES = ("red", "green", "blue")


def test_reply_of_a_server_reaches_an_interval(tmp_path: Path) -> None:
    items = [ov.Item(f"i{j}", f"text {j}", CLASSES, (0, 1, 2)) for j in range(12)]
    plan = Partitioned(one_expert_per_class(CLASSES), seed=1)
    labels = plan.decode(SimulatedExperts({i.id: 0 for i in items}).answer(plan.route(items)))

    def reply(prompt: str, _n: int) -> Reply:
        return Reply(f"A: {DYE}" if "text 7" in prompt else "B")

    with fake_openai(reply) as server:
        walk = follow(
            DYE,
            lambda: str(
                ov.accuracy(
                    ov.run("m", items, store=str(tmp_path / "s.db"), endpoint=server.url),
                    labels,
                    checks=False,
                )
            ),
            start="harness/llm/models/",  # before that, the value is bytes of aiohttp
        )
    assert_short("a prediction from the wire to an interval", walk, files=27, returns=1)


def test_proposed_candidate_reaches_the_archive(tmp_path: Path) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url, more='policy = "recombine"\ntokens = 1_000_000', in_flight=1)
        start = tmp_path / "start.py"
        start.write_text(start.read_text().replace("Answer at once.", f"Answer at once. {DYE}"))
        words = ["search", "start", "--study", str(tmp_path / "study.toml"), "--json"]
        walk = follow(
            DYE, lambda: main(words), start="agents/search/policies/", stop="harness/store/searches"
        )
    assert_short("a candidate from proposal to archive", walk, files=17, returns=1)
