"""Where several processes test, the tests of a group go to the same one."""

from __future__ import annotations

import pytest


@pytest.mark.xdist_group("alone")
def test_groups_hold(request: pytest.FixtureRequest) -> None:
    if "workerinput" in vars(request.config):
        assert request.node.nodeid.endswith("@alone"), "pytest-xdist knows no groups under this pytest"
