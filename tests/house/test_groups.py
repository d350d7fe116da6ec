"""All tests of a group run in the same process if pytest uses several."""

from __future__ import annotations

import pytest


@pytest.mark.xdist_group("alone")
def test_tests_of_a_group_run_in_one_process(request: pytest.FixtureRequest) -> None:
    given = getattr(request.config, "workerinput", {"mainargv": []})["mainargv"]
    if any("loadgroup" in argument for argument in given):  # the option that `make` passes
        assert request.node.nodeid.endswith("@alone"), "pytest-xdist knows no groups under this pytest"
