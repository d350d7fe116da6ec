"""CPU seconds of every verb on a small study, each a program of its own, models behind a loopback server.

    python benchmarks/verb_cpu.py [--quick]

User and system time of the program; best and median of five runs (two with --quick). A first run, which
is not counted, writes byte code and, where a verb writes, what it writes. A machine
whose cores are shared shows more than an idle one: the load is printed. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.cli.search_study import answer
from tests.fakes.openai_server import fake_openai
from tests.first_hour.every_verb import COMMANDS, Command, begin, end_page, lay_out_studies


def seconds(command: Command, folder: Path) -> float:
    """CPU seconds of one run; what an earlier one made and this would not make again is removed."""
    for made in ("new/study.toml", "made.jsonl", *(["study.db"] if command.study == "fresh" else [])):
        (folder / command.study / made).unlink(missing_ok=True)
    process = begin(command, folder)
    end_page(command, process)
    assert process.stdout
    process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == command.code, f"{command.words}: exit code {process.returncode}"
    return used.ru_utime + used.ru_stime


def main(runs: int) -> None:
    found = {}
    with fake_openai(answer) as server, tempfile.TemporaryDirectory() as made:
        lay_out_studies(Path(made), server.url)
        print(f"{'best':>5} {'median':>6}  CPU seconds of (load {os.getloadavg()[0]:.1f})")
        for command in COMMANDS:
            seconds(command, Path(made))
            taken = [seconds(command, Path(made)) for _ in range(runs)]
            found[command.words] = min(taken)
            print(f"{min(taken):>5.2f} {statistics.median(taken):>6.2f}  {command.words}", flush=True)
    worst = max(found, key=found.__getitem__)
    print(f"load {os.getloadavg()[0]:.1f}")
    print(json.dumps({"verbs": len(found), "worst": round(found[worst], 2), "worst_verb": worst}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="two runs each")
    main(2 if parser.parse_args().quick else 5)
