"""Numbers printed in Table 1 and in the text of "Are Machines Better Than Humans in Image Tagging?"."""

from __future__ import annotations

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray

TABLE_1 = {
    "airplane": (77, 0.980, 0.986, 0.998), "cat": (96, 0.978, 0.955, 0.990),
    "bird": (101, 0.976, 0.934, 0.976), "dog": (123, 0.974, 0.947, 0.989),
    "sheep": (35, 0.970, 0.874, 0.950), "cow": (34, 0.960, 0.821, 0.943),
    "horse": (42, 0.959, 0.929, 0.985), "bus": (45, 0.956, 0.910, 0.959),
    "train": (55, 0.953, 0.960, 0.987), "boat": (46, 0.940, 0.922, 0.964),
    "motorbike": (55, 0.938, 0.921, 0.972), "bicycle": (68, 0.909, 0.860, 0.947),
    "TV monitor": (63, 0.898, 0.827, 0.942), "person": (420, 0.895, 0.950, 0.988),
    "car": (126, 0.848, 0.836, 0.948), "sofa": (79, 0.796, 0.678, 0.868),
    "bottle": (93, 0.761, 0.654, 0.836), "dining table": (61, 0.737, 0.796, 0.881),
    "chair": (123, 0.716, 0.734, 0.904), "potted plant": (59, 0.668, 0.594, 0.768),
}  # fmt: skip
"""Category → number of positive images, α of 18 annotators, AP of AI-1, AP of AI-2."""
IMAGES = 1159
POSITIVE: IntArray = np.array([row[0] for row in TABLE_1.values()])
ALPHA, AI_1, AI_2 = (np.array([row[j] for row in TABLE_1.values()]) for j in (1, 2, 3))
PRECISIONS: dict[str, FloatArray] = {"AI-1": AI_1, "AI-2": AI_2}

STANDING = {1: (9, 6, 3), 2: (2, 2, 1), 0: (11, 8, 4)}
"""Experiment (0: both) → number of people who are worse than AI-2, on a par with it, and better."""
HLPRI = {1: "2.4", 2: "1.5"}
PEOPLE = {1: 18, 2: 5}
OVERALL = {1: "0.913", 2: "0.904"}
BEST_ORDER = ("96.5", "96.3", "95.3")
"""MAP in per cent of the three best annotators of experiment 1, if ties are in the best order."""
WORST_ORDER = "91.6"
"""MAP of the best annotator of experiment 1, if ties are in the worst order."""
BEST_GUIDED = "96.9"
"""MAP of the best annotator of experiment 2, if ties are in the best order."""
