"""Labels as columns, from arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oversight.harness.columns import ItemIndex, LabelColumns, OfferedOptions, QuestionColumns


def label_columns(
    option: NDArray[Any], kind: NDArray[Any], n_options: NDArray[Any], item: NDArray[Any]
) -> LabelColumns:
    """Labels about options drawn uniformly: option, kind and place of the item of each; K of every item."""
    count, index = len(option), ItemIndex(len(n_options), lambda: list(map(str, range(len(n_options)))))
    zeros = np.zeros(count + 1, np.int64)
    questions = QuestionColumns(
        index=index,
        item=item,
        option=option,
        n_options=n_options[item].astype(np.int64),
        propensity=1 / n_options[item],
        expert=zeros[1:],
        experts=[""],
        offered=OfferedOptions(start=zeros, values=np.zeros(0)),
        place=zeros[1:] - 1,
    )
    asked = np.zeros(index.size, np.bool_)
    return LabelColumns(questions=questions, kind=kind, statements=(), drawn=None, asked=asked)
