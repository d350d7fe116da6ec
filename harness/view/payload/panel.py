"""Data on a panel: agreement, and the certificate and parity of every model that was run.

The values are those of ``oversight panel agree``, ``certify`` and ``parity`` with their default options.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from oversight.harness.analysis import (
    PanelStudy,
    compare_with_reference,
    find_newest_runs,
    read_study_model,
    read_study_panel,
    study_clusters,
)
from oversight.harness.arrays import IntArray
from oversight.harness.config import Study
from oversight.harness.errors import OversightError, StoreError
from oversight.harness.panel import (
    CEILING_NAMES,
    RELIABLE,
    Panel,
    assess_superhuman,
    compute_bounds_by_size,
    measure_agreement,
    measure_parity,
)
from oversight.harness.report import agreement_to_json, certificate_to_json, parity_to_json
from oversight.harness.store import Store

T = TypeVar("T")

_NO_REFERENCE = (
    "They need labels of experts who are not on the panel: set reference under [experts] in "
    "study.toml to a file of such labels, or use oversight panel parity --reference FILE"
)


def read_panel(study: Study, store: Store) -> dict[str, Any]:
    """Return the results for a panel; a result that cannot be computed is None, with the reason.

    Returns
    -------
    dict
        ``is_panel``: whether the study is a panel. ``items``, ``annotators``, ``ratings``: their numbers.
        ``agreement``: output of ``oversight panel agree --json`` without ``svg``. ``models``: for each model
        ``name``, ``certificate`` (with its bounds by number of annotators) and ``parity``, as the commands
        ``certify`` and ``parity`` print them. ``left_out``: reasons why some models are missing from
        ``models``.
        ``undefined``, at the top level and for each model: name of a value that is None or empty → reason.
        ``reliable``, ``ceilings``: threshold of α, and names of ceilings, for the plots.
    """
    found: dict[str, Any] = {
        "is_panel": study.experts.is_panel,
        "items": 0,
        "annotators": 0,
        "ratings": 0,
        "agreement": None,
        "models": [],
        "left_out": [],
        "undefined": {},
        "reliable": RELIABLE,
        "ceilings": CEILING_NAMES,
    }
    if not study.experts.is_panel:
        found["undefined"]["ratings"] = (
            "this study asks experts yes/no questions; a panel of annotators who choose among all options "
            'needs protocol = "panel" under [experts]'
        )
        return found
    panel = _attempt(found, "ratings", lambda: read_study_panel(store, None, study_clusters(study)))
    if panel is None:
        return found
    found |= {"items": len(panel.items), "annotators": len(panel.annotators), "ratings": len(panel.item)}
    found["agreement"] = _attempt(found, "agreement", lambda: agreement_to_json(measure_agreement(panel)))
    chosen = _attempt(found, "models", lambda: find_newest_runs(store, None))
    if chosen is not None:
        found["models"] = [_read_model(study, store, panel, run["name"]) for run in chosen.runs]
        found["left_out"] = list(chosen.left_out)
    return found


def _read_model(study: Study, store: Store, panel: Panel, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "certificate": None, "parity": None, "undefined": {}}
    predicted = _attempt(found, "predictions", lambda: read_study_model(store, panel, name))
    if predicted is not None:
        found["certificate"] = _attempt(found, "certificate", lambda: _certify(found, panel, predicted))
        found["parity"] = _attempt(found, "parity", lambda: _compare(found, study, panel, predicted))
    return found


def _certify(found: dict[str, Any], panel: Panel, predicted: IntArray) -> dict[str, Any]:
    decided = assess_superhuman(panel, predicted)
    growth = _attempt(found, "growth", lambda: compute_bounds_by_size(panel, predicted)) or ()
    return certificate_to_json(decided, growth)


def _compare(found: dict[str, Any], study: Study, panel: Panel, predicted: IntArray) -> dict[str, Any]:
    parity, level, named = measure_parity(panel, predicted), None, study.reference_file
    if named is None:
        found["undefined"]["human_level"] = _NO_REFERENCE
    else:
        files = PanelStudy(database=study.store_url)
        level = _attempt(
            found,
            "human_level",
            lambda: compare_with_reference(
                panel, predicted, files.read_labels(panel, named, "reference", partial=True), parity.humans
            ),
        )
    return parity_to_json(parity, level)


def _attempt(found: dict[str, Any], name: str, work: Callable[[], T]) -> T | None:
    """Return the result of `work`; if it fails, return None and record the reason under ``undefined``."""
    try:
        return work()
    except StoreError:
        raise
    except OversightError as error:
        found["undefined"][name] = str(error)
        return None
