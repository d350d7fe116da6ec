"""Statistics of answer times: pace, hours to pay, answers too fast to have been read."""

from __future__ import annotations

import pytest

from oversight.protocols.collect.progress.queue_progress import AnswerTimes, sum_up_times


def test_without_times_nothing_is_said() -> None:
    assert sum_up_times([]) == AnswerTimes(timed=0, median_seconds=None, hours=None, fast=0)


def test_page_left_open_overnight_is_not_counted_as_work() -> None:
    times = sum_up_times([(10.0, 100)] * 99 + [(8 * 3600.0, 100)])
    assert times.median_seconds == 10
    assert times.hours == pytest.approx((99 * 10 + 100) / 3600)


@pytest.mark.parametrize(
    ("seconds", "length", "fast"),
    [(0.4, 0, 1), (0.5, 0, 0), (4.9, 1000, 1), (5.0, 1000, 0), (0.6, 100, 0)],
)
def test_answers_faster_than_reading_are_fast(seconds: float, length: int, fast: int) -> None:
    assert sum_up_times([(seconds, length)]).fast == fast


def test_clicking_through_is_noticed() -> None:
    times = sum_up_times([(0.3, 600)] * 40)
    assert times.fast == times.timed == 40
