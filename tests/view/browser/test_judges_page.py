"""The page on judges, in a browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.cli.test_judge import make_study


@pytest.mark.browser
def test_judges_page_shows_calibration_savings_and_reasons(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    make_study(oversight)
    oversight("report", "report.html")
    page.goto(f"{(tmp_path / 'report.html').as_uri()}#/judges")
    expect(page.get_by_role("heading", name="Judges")).to_be_visible()
    expect(page.get_by_text("wise: tells true from false")).to_be_visible()
    expect(page.get_by_text("errors of wise and a: not told").first).to_be_visible()
    for title in ("Calibration of wise", "Accuracy without and with judges"):
        expect(page.locator("figcaption", has_text=title)).to_be_visible()
