"""What several tests of the runner need."""

from __future__ import annotations

import pytest

from tests.llm.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()
