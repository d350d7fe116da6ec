"""Items of three classes, by turns, with their key and an expert of each."""

from __future__ import annotations

from pathlib import Path

CLASSES = ("red", "green", "blue")


def write_colours(n: int) -> None:
    """n items i0, i1, …, "number 0." and so on, their key and the experts, in the working directory."""
    Path("items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}.\n" for j in range(n)))
    Path("key.csv").write_text("id,label\n" + "".join(f"i{j},{CLASSES[j % 3]}\n" for j in range(n)))
    Path("experts.toml").write_text(
        "".join(f'[[expert]]\nname = "{c}"\nclasses = ["{c}"]\n' for c in CLASSES)
    )
