"""Small invented data for the examples in docstrings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from oversight.harness.types import Label, LabelKind, Prediction, Rating

if TYPE_CHECKING:
    from pandas import DataFrame

    from oversight.harness.arrays import FloatArray
    from oversight.harness.judges import JudgedQuestions, JudgeProbabilities
    from oversight.harness.open_answers import Judgements, UnitTable
    from oversight.harness.panel import Panel


def example_study() -> tuple[list[Prediction], list[Prediction], list[Label]]:
    """Return the answers of two models to 80 items with four options, and one label per item.

    Examples
    --------
    >>> a, b, labels = example_study()
    >>> sum(label.kind is LabelKind.ORDINARY for label in labels)
    20
    """
    said = [LabelKind.COMPLEMENTARY if j % 4 else LabelKind.ORDINARY for j in range(80)]
    labels = [Label(f"i{j}", j % 4, said[j], 4, 0.25) for j in range(80)]
    a, b = ([Prediction(f"i{j}", int(j % every == 0)) for j in range(80)] for every in (5, 3))
    return a, b, labels


def example_ratings() -> DataFrame:
    """Return the ratings of six items by three people as a frame with ``item``, ``annotator`` and ``label``.

    Examples
    --------
    >>> len(example_ratings())
    18
    """
    import pandas as pd

    said = {"a": "xxy", "b": "yyy", "c": "xxx", "d": "yxy", "e": "xxx", "f": "yyy"}
    rows = [(item, f"p{k}", votes[k]) for item, votes in said.items() for k in range(3)]
    return pd.DataFrame(rows, columns=["item", "annotator", "label"])


def example_panel() -> Panel:
    """Return the ratings of `example_ratings` as a panel.

    Examples
    --------
    >>> example_panel().annotators
    ('p0', 'p1', 'p2')
    """
    from oversight.harness.panel import make_panel

    return make_panel(Rating(*row) for row in example_ratings().itertuples(index=False))


def example_judge() -> tuple[FloatArray, JudgeProbabilities, JudgedQuestions]:
    """Return a judge's probabilities of yes as an array and as `JudgeProbabilities`, and experts' answers.

    Examples
    --------
    >>> p, judge, asked = example_judge()
    >>> p[:4].tolist()
    [0.9, 0.7, 0.3, 0.1]
    """
    from oversight.harness.judges import JudgedQuestions, JudgeProbabilities

    p, answer = np.tile([0.9, 0.7, 0.3, 0.1], 50), np.tile([1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0], 25)
    judge = JudgeProbabilities(p=np.column_stack([p, 1 - p]), n_options=np.full(200, 2))
    n, ones = np.arange(200), np.ones(200)
    asked = JudgedQuestions(item=n, option=n * 0, answer=answer, weight=ones, cluster=n, scope="options")
    return p, judge, asked


def example_units() -> UnitTable:
    """Return the units of twelve open answers, one criterion each.

    Examples
    --------
    >>> example_units().answer.tolist()[-1]
    'a11'
    """
    from oversight.harness.open_answers import Frame
    from oversight.harness.store import StoredAnswer, StoredUnit

    places = range(12)
    return Frame(
        answers=[StoredAnswer(f"i{j}", "m", f"a{j}", f"{j} mg") for j in places],
        units=[StoredUnit(f"c{j}", f"i{j}", "", 0, "names the dose", 1.0, "law", "rubric") for j in places],
    ).table


def example_judgements() -> Judgements:
    """Return judgements of twelve open answers by the law expert "ann"; nine answers meet their criterion.

    Examples
    --------
    >>> (example_judgements().reply == "yes").sum()
    np.int64(9)
    """
    from oversight.harness.open_answers import draw_questions, join_replies

    table = example_units()
    drawn = draw_questions(table, 12, "equal", 1, experts={"ann": "law"})
    return join_replies(table, drawn, ["yes"] * 9 + ["no"] * 3)
