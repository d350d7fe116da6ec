"""Fixtures shared by several tests of the runner."""

from __future__ import annotations

import pytest

from tests.llm.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()
