"""Asking models as the study's database allows: alone on a file, together with others on a server."""

from __future__ import annotations

from collections.abc import Sequence

from oversight.harness.llm.asking.joint_run import open_jointly, work_on
from oversight.harness.llm.limits import PriceTable
from oversight.harness.llm.runner import (
    DEFAULT_TERMS,
    RunResult,
    RunTerms,
    Target,
    Wanted,
    open_runs,
    run_alone,
)


def run_targets(
    wanted: Wanted, targets: Sequence[Target], *, prices: PriceTable, terms: RunTerms = DEFAULT_TERMS
) -> list[RunResult]:
    """Ask every model about the stored items that are wanted, as `run_alone`.

    In a file one process at a time works on a run; on a server, all that are told to work on it together.
    """
    if wanted.store.is_file:
        return run_alone(wanted, targets, prices=prices, terms=terms)
    with open_runs(wanted, targets, prices=prices, terms=terms, joins=True) as opened:
        opening = open_jointly(wanted, opened.targets, opened.prepared, terms)
    # the locks are free again, for others to join
    return opened.report(work_on(opening, opened.ready, terms.crew) if opening else [])
