"""Our Dawid-Skene beside Crowd-Kit's on real annotators: the same posteriors, and the time.

Crowd-Kit is the one well-kept permissive library that has it; with all it needs it takes 46 packages and
half a gigabyte, transformers among them, so it is compared with here and not depended on.

    python benchmarks/dawid_skene.py [--quick]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks._panel_data import SOURCE, write_all
from benchmarks._peers import run_peers
from harness.datasets.ratings import read_ratings
from harness.panel import Panel, dawid_skene, panel_of
from harness.panel.dawid_skene import label_counts

PANELS = ("bluebirds", "cardiomegaly", "snli5")
STEPS = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one panel only")
    args = parser.parse_args()
    if not SOURCE.is_dir():
        sys.exit(f"{SOURCE} is not there; set OVERSIGHT_DATASETS")
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        write_all(Path(folder))
        for name in PANELS[:1] if args.quick else PANELS:
            results[name] = compare(name, panel_of(read_ratings(Path(folder, f"{name}.csv"))), Path(folder))
    print(json.dumps({"benchmark": "dawid_skene", "panels": results}))


def compare(name: str, panel: Panel, folder: Path) -> dict[str, float]:
    """Fit both, with as many steps as ours takes to converge."""
    started = time.perf_counter()
    ours = dawid_skene(label_counts(panel), most=STEPS)
    found = {"ours": time.perf_counter() - started, "steps": ours.iterations}
    path = folder / f"{name}.npz"
    np.savez(path, item=panel.item, annotator=panel.annotator, label=panel.label)
    theirs = run_peers("_crowdkit_peer.py", ("crowd-kit==1.4.2",), path, str(ours.iterations))
    size = f"{len(panel.items)} items, {len(panel.annotators)} annotators, {len(panel.item)} ratings"
    if not theirs:
        return found
    posterior = np.array(theirs["posterior"])
    found["crowd-kit"] = theirs["seconds"]
    found["largest difference"] = float(np.abs(posterior - ours.posterior).max())
    assert found["largest difference"] < 1e-6, (name, found)
    same = float((posterior.argmax(axis=1) == ours.posterior.argmax(axis=1)).mean())
    found["same winner"] = same
    print(
        f"{name}: {size}; {ours.iterations} steps\n"
        f"  ours {found['ours']:.3f} s, crowd-kit {found['crowd-kit']:.3f} s (ours is "
        f"{found['crowd-kit'] / found['ours']:.0f} x as fast); posteriors differ by at most "
        f"{found['largest difference']:.1e}, same winner on {same:.1%}"
    )
    return found


if __name__ == "__main__":
    main()
