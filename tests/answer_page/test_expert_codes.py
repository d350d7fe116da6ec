"""Personal codes: shown once, stored as hashes, ended by time, by hand and by newer ones; addresses."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from oversight.harness import BadInput, ConfigError
from oversight.harness.cli.main import main
from oversight.harness.platform import host_name
from oversight.harness.store import Store
from oversight.harness.web import PublicAddress, derive_session, read_public_url
from oversight.protocols.collect import list_codes, make_codes, revoke_codes
from oversight.protocols.collect.answer_page.answer_guard import RequestLimit, network_of
from oversight.protocols.collect.answer_page.expert_codes import (
    derive_link_id,
    normalise_code,
    open_link,
    sign_in,
)
from tests.answer_page.conftest import draw, fill, lay_out

AT = "https://answers.example.org"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(draw(tmp_path).store_url) as opened:
        yield opened


@pytest.mark.parametrize(
    "text",
    ["0f9kq-x7m1c-ab4de-0pz81", "0F9KQ-X7M1C-AB4DE-0PZ81", " 0f9kq x7m1c ab4de 0pz81 ",
     "0f9kqx7m1cab4de0pz81", "of9kq-x7mlc-ab4de-opz8i", "OF9KQ-X7MIC-AB4DE-OPZ8L"],
)  # fmt: skip
def test_a_typed_code_is_read_with_tolerance(text: str) -> None:
    assert normalise_code(text) == "0f9kqx7m1cab4de0pz81"


@pytest.mark.parametrize(
    "text",
    ["", "0f9kq-x7m1c-ab4de-0pz8", "0f9kq-x7m1c-ab4de-0pz812", "0f9kq-x7m1c-ab4de-0pz8u", "\udcff" * 20],
)
def test_another_text_is_no_code(text: str) -> None:
    assert normalise_code(text) == ""


def test_a_code_opens_until_a_newer_one_or_its_end(url: str, tmp_path: Path) -> None:
    study = lay_out(tmp_path, store=url)
    fill(study)
    with Store(url) as store:
        first, other = make_codes(study, store, AT)
        assert [(made.expert, made.url) for made in (first, other)] == [("ana", AT), ("bea", AT)]
        assert re.fullmatch(r"([0-9a-hjkmnp-tv-z]{5}-){3}[0-9a-hjkmnp-tv-z]{5}", first.code)
        secret, of_other = normalise_code(first.code), normalise_code(other.code)
        link_id = derive_link_id(secret)
        for link in (sign_in(store, secret), open_link(store, link_id, derive_session(secret))):
            assert link is not None
            assert (link.id, link.expert) == (link_id, "ana")
        for wrong in (secret[:-1], secret + "x", "", "\udcff"):
            assert sign_in(store, wrong) is None
        for wrong in (secret, "", derive_session(of_other)):
            assert open_link(store, link_id, wrong) is None
        assert open_link(store, "0" * 12, derive_session(secret)) is None
        make_codes(study, store, AT, experts=["ana"])
        assert sign_in(store, secret) is None
        assert sign_in(store, of_other) is not None
        assert len(store.people.find_link_ids("ana")) == 2


def test_a_code_ends_by_time_and_by_revocation(store: Store, tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    [made] = make_codes(study, store, AT, experts=["ana"], days=1)
    link = list_codes(study, store)["ana"]
    assert link is not None
    now = datetime.now(UTC)
    assert [link.opens(now + timedelta(hours=hours)) for hours in (0, 23, 25)] == [True, True, False]
    assert sign_in(store, normalise_code(made.code)) == link
    assert revoke_codes(store, ["ana", "ana"]) == ["ana"]
    assert revoke_codes(store, ["ana"]) == []
    assert sign_in(store, normalise_code(made.code)) is None
    revoked = list_codes(study, store)["ana"]
    assert revoked is not None
    assert not revoked.opens(now)
    assert list_codes(study, store)["bea"] is None


def test_the_database_holds_no_secret(store: Store, tmp_path: Path) -> None:
    made = make_codes(lay_out(tmp_path), store, AT)
    links = store.people.read_links()
    store.close()
    files = b"".join(path.read_bytes() for path in tmp_path.glob("study.db*"))
    for code, link in zip(made, links, strict=True):
        secret = normalise_code(code.code)
        for text in (code.code, secret, derive_session(secret)):
            assert text.encode() not in files
        assert link.id.encode() in files
        assert link.id == derive_link_id(secret)
        assert link.id not in link.token_digest + link.session_digest


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"experts": ["anna"]}, "did you mean 'ana'"),
        ({"days": 0}, "--days"),
        ({"days": float("nan")}, "--days"),
        ({"days": 1e9}, "--days"),
    ],
)
def test_codes_are_refused_that_make_no_sense(
    store: Store, tmp_path: Path, change: dict[str, object], told: str
) -> None:
    make: Callable[..., object] = make_codes
    with pytest.raises(BadInput, match=told):
        make(lay_out(tmp_path), store, AT, **change)
    assert store.people.read_links() == []


def test_the_commands_say_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    for words in (["codes"], ["serve", "--port", "0"], ["codes", "ana"]):
        assert main(["label", *words]) == 2
        assert "oversight label route" in capsys.readouterr().err
    draw(tmp_path)
    wrong = (
        ["codes", "--revoke"], ["codes", "--all", "ana"], ["codes", "--revoke", "ana"],
        ["codes", "--port", "-1"], ["serve", "--port", "70000"], ["serve", "--host", " "],
        ["serve", "--public-url", "answers.example.org"], ["serve", "--host", "192.0.2.1"],
    )  # fmt: skip
    for words in wrong:
        assert main(["label", *words]) == 2, words
    assert main(["label", "codes", "ana", "--json"]) == 0
    [made] = json.loads(capsys.readouterr().out)["codes"]
    assert made["url"] == "http://127.0.0.1:8643"
    assert main(["label", "codes", "ana"]) == 0
    assert re.match(
        r"the page is at http://127.0.0.1:8643, unless .* another address\nana: (\w{5}-){3}\w{5} \(",
        capsys.readouterr().out,
    )
    with sqlite3.connect(tmp_path / "study.db") as database:
        assert database.execute("SELECT count(*) FROM answer_link").fetchone() == (2,)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("https://Answers.Example.org/", AT),
        ("https://answers.example.org:443", AT),
        ("http://localhost:80", "http://localhost"),
        ("https://[2001:DB8::1]:8443", "https://[2001:db8::1]:8443"),
    ],
)
def test_a_public_address_is_scheme_and_host(text: str, found: str) -> None:
    assert read_public_url(text) == found


@pytest.mark.parametrize(
    "text",
    ["", "answers.example.org", "ftp://x", "https://", "https://x/y", "https://x?y", "https://u:p@x", "https://x:y",
     "https://x y", "https://x\r\nSet-Cookie: a=b", "https://x:99999", "https://[::1", "javascript:alert(1)"],
)  # fmt: skip
def test_another_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--public-url"):
        read_public_url(text)


def test_the_names_that_the_page_is_known_by() -> None:
    local = PublicAddress(host="127.0.0.1", port=8643)
    assert all(local.knows(f"{name}:8643") for name in ("127.0.0.1", "localhost", "[::1]", "LOCALHOST"))
    assert not any(
        local.knows(h) for h in ("127.0.0.1", "x:8643", "", "10.0.0.1:8643", "localhost:8643.x", "\0")
    )
    assert not local.is_readable
    public = PublicAddress(host="127.0.0.1", port=8643, public=AT)
    assert public.knows("answers.example.org")
    assert not public.knows("answers.example.org:8643")
    assert public.is_secure
    assert not public.is_readable
    assert public.sent_from_here(AT, "127.0.0.1:8643")
    assert not public.sent_from_here("http://answers.example.org", "answers.example.org")
    exposed = PublicAddress(host="0.0.0.0", port=80)  # noqa: S104  that is what is tested
    assert exposed.knows("10.1.2.3")
    assert exposed.knows(host_name())
    assert not exposed.knows("evil.example")
    assert exposed.is_readable
    assert PublicAddress(host="127.0.0.1", port=1, public="http://a.example").is_readable


def test_a_limit_fills_up_again_with_time() -> None:
    now = [0.0]
    limit = RequestLimit(2, 3.0, clock=lambda: now[0])
    assert limit.wait("a") == 0
    limit.spend("a")
    limit.spend("a")
    assert limit.wait("a") == 3.0
    assert limit.wait("b") == 0
    now[0] = 3.0
    assert limit.wait("a") == 0
    assert network_of("2001:db8:1:2:3::4") == network_of("2001:db8:1:2::9") != network_of("2001:db8:1:3::9")
    assert network_of("::ffff:10.0.0.1") == network_of("10.0.0.1")
    assert network_of("' OR 1=1") == "unknown"
