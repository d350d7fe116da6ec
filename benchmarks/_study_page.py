"""Print tables and picture of the study on MMLU-Pro, and write them into docs/studies."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from oversight.harness.machine import write_whole

FOLDER = Path(__file__).parents[1] / "docs" / "studies"
PAGE, NUMBERS, PICTURE = (FOLDER / f"mmlu-pro.{ending}" for ending in ("md", "json", "png"))
Json = dict[str, Any]
NAMES = {
    "published": "uniform, IVW with the paper's interval",
    "partitioned": "uniform, ML with the exact interval",
    "targeted": "targeted for all twenty",
    "sequential": "sequential for all twenty",
    "partitioned, one": "uniform, the best model alone",
    "targeted, one": "targeted, the best model alone",
}


def tables(found: Json) -> dict[str, str]:
    """Return every table by name, for the parts that were run."""
    study, made = found["study"], dict[str, str]()
    made["designs"] = _designs(study)
    made["repeated"] = _repeated(found["repeated"])
    if "same_width" in found:
        made["same-width"] = _same_width(study, found["same_width"])
    made["ranking"] = _ranking(study, found.get("same_width", {}))
    made["pick"] = _pick(found["pick"])
    made["scripted"] = _scripted(found["scripted"])
    if "local" in found:
        made["local"] = _local(found["local"])
    return made


def show_tables(found: Json) -> None:
    """Print every table."""
    for name, text in tables(found).items():
        print(f"{name}\n{text}\n")


def write_page(found: Json) -> None:
    """Write numbers, picture and tables into the page, each between its markers."""
    write_whole(json.dumps(found, indent=1) + "\n", NUMBERS, 0o644)
    write_whole(fill_page(PAGE.read_text(encoding="utf-8"), found), PAGE, 0o644)
    draw(found["study"], PICTURE)


def fill_page(page: str, found: Json) -> str:
    """Return the page with these tables; a table without markers is an error."""
    for name, text in tables(found).items():
        pattern = re.compile(rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        places = pattern.findall(page)
        if len(places) != 1:
            raise SystemExit(f"{PAGE}: {len(places)} places for the table {name!r}")
        page = pattern.sub("".join((r"\g<1>", text.replace("\\", r"\\"), r"\n\g<2>")), page)
    return page


def draw(study: Json, path: Path) -> None:
    """Every model's intervals, uniform and sequential, with the full key's accuracy."""
    from matplotlib import pyplot

    from oversight.harness.plot.drawing import SERIES, new_axes, rows_height, show_percent, text_ink

    exact = study["accuracies"]
    axes = new_axes(None, rows_height(len(exact)))
    for shift, (protocol, color) in enumerate(zip(("partitioned", "sequential"), SERIES, strict=False)):
        design = study["designs"][protocol]
        for row, model in enumerate(reversed(exact)):
            value, low, high = design["estimates"][model]
            y = row + 0.18 - 0.36 * shift
            label = f"{NAMES[protocol]}: {design['questions']:,} questions" if row == 0 else None
            axes.plot([low, high], [y, y], color=color, lw=2.4, solid_capstyle="butt", label=label)
            axes.plot([value], [y], "o", color=color, ms=3.5)
    for row, model in enumerate(reversed(exact)):
        axes.plot([exact[model]] * 2, [row - 0.4, row + 0.4], color=text_ink(), lw=1.2)
    axes.set_yticks(range(len(exact)), list(reversed(exact)))
    axes.set_ylim(-0.7, len(exact) - 0.3)
    axes.set_xlabel("accuracy  (upright line: by the full key)")
    show_percent(axes, "x")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    pyplot.savefig(path, dpi=120, metadata={"Software": None})
    pyplot.close()


def _designs(study: Json) -> str:
    designs, rows = study["designs"], []
    for name, told in NAMES.items():
        design = designs[name]
        uniform = designs["partitioned, one" if name.endswith("one") else "partitioned"]["width"]
        needed = study["items"] * (uniform / design["width"]) ** 2
        cells = (f"{design['questions']:,}", f"{design['held']} of {design['models']}")
        saved = f"{needed / design['questions']:.2f}" if name != "published" else "–"
        rows.append(
            (
                told,
                *cells,
                f"{100 * design['width']:.1f}",
                f"{needed:,.0f}" if name != "published" else "–",
                saved,
            )
        )
    return _table(
        (
            "design",
            "questions",
            "intervals hold",
            "mean width, points",
            "uniform would need",
            "times as many",
        ),
        rows,
    )


def _repeated(repeated: Json) -> str:
    rows = (
        (
            NAMES[p],
            f"{d['items']:,}",
            d["draws"],
            f"{100 * d['coverage']:.1f}",
            f"{d['fewest']} of {d['models']}",
        )
        for p, d in repeated.items()
    )
    heads = ("design", "items", "studies", "intervals that hold, %", "fewest in one study")
    return _table(heads, rows)


def _same_width(study: Json, same: Json) -> str:
    uniform = study["designs"]["partitioned"]
    rows = []
    for name, design in {"partitioned": {**uniform, "items": study["items"]}, **same}.items():
        share = f"{design['questions'] / uniform['questions']:.2f}"
        held = f"{design['held']} of {design['models']}"
        cells = (f"{design['items']:,}", f"{design['questions']:,}", f"{100 * design['width']:.1f}", held)
        rows.append((NAMES[name], *cells, share))
    heads = (
        "design",
        "items",
        "questions",
        "mean width, points",
        "intervals hold",
        "questions, of uniform's",
    )
    return _table(heads, rows)


def _ranking(study: Json, same: Json) -> str:
    ways = [(NAMES[p].split(",")[0], study["designs"][p]) for p in ("partitioned", "targeted", "sequential")]
    ways += [(f"{NAMES[p].split(',')[0]}, as wide as uniform", design) for p, design in same.items()]
    rows = (
        (
            told,
            f"{d['questions']:,}",
            f"{d['apart']} of {d['pairs']}",
            d["wrong"],
            f"{d['ranks_held']} of {d['models']}",
            d["ranks_each"],
        )
        for told, d in ways
    )
    heads = (
        "design",
        "questions",
        "pairs told apart",
        "wrongly",
        "ranks hold the true one",
        "ranks a model may have",
    )
    return _table(heads, rows)


def _pick(pick: Json) -> str:
    rows = (
        (
            rule,
            f"{100 * d['true']:.1f}",
            f"{100 * d['printed']:.1f}",
            f"{100 * (d['printed'] - d['true']):+.1f}",
        )
        for rule, d in pick.items()
    )
    return _table(
        (f"score ({_draws(pick)} draws)", "true accuracy of the pick, %", "printed", "off by"), rows
    )


def _scripted(scripted: Json) -> str:
    rows = (
        (
            rule,
            f"{d['calls']:,.0f}",
            f"{100 * d['true']:.1f}{_give_or_take(d['true_se'])}",
            f"{100 * d['printed']:.1f}",
            f"{100 * (d['printed'] - d['true']):+.1f}{_give_or_take(d['off_se'])}",
        )
        for rule, d in scripted.items()
    )
    count = next(iter(scripted.values()))["searches"]
    heads = (
        f"search ({count} each, from 44 %; ± standard error)",
        "calls",
        "winner, test items by the key, %",
        "printed",
        "off by",
    )
    return _table(heads, rows)


def _give_or_take(se: float | None) -> str:
    return "" if se is None else f" ± {100 * se:.1f}"


def _local(local: Json) -> str:
    rows = (
        (rule, f"{100 * d['start_truth']:.1f}", f"{100 * d['truth']:.1f}", _printed(d))
        for rule, d in local.items()
    )
    return _table(("search", "start, by the key, %", "winner, by the key, %", "printed"), rows)


def _printed(winner: Json) -> str:
    if winner["low"] is None:
        return f"{100 * winner['printed']:.1f}"
    return _interval([winner[name] for name in ("printed", "low", "high")])


def _draws(pick: Json) -> int:
    return int(next(iter(pick.values()))["draws"])


def _interval(triple: Sequence[float]) -> str:
    value, low, high = (100 * number for number in triple)
    return f"{value:.1f} [{low:.1f}, {high:.1f}]"


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(str, cells))} |" for cells in lines)
