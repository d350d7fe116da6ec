"""Ask models to help with open answers by listing claims or judging units.

The replies are stored as separate runs, so that no text is sent twice.
"""

from __future__ import annotations

from collections.abc import Mapping

from oversight.harness.analysis import study_prices
from oversight.harness.config import Study
from oversight.harness.errors import ModelError
from oversight.harness.llm import (
    DEFAULT_TERMS,
    RequestedItems,
    RunTerms,
    Target,
    cut_thoughts,
    make_spec,
    run_alone,
)
from oversight.harness.store import Store
from oversight.harness.types import OPEN_ANSWER, Item, PredictionStatus

CLAIMS, JUDGE = USES = ("claims", "judge")
"""Tasks of helping models."""


def name_side_run(model: str, use: str) -> str:
    """Return the name of the run that stores a model's replies for a task.

    Examples
    --------
    >>> name_side_run("small", CLAIMS)
    'small (claims)'
    """
    return f"{model} ({use})"


def ask_aside(
    study: Study,
    store: Store,
    model: str,
    use: str,
    prompt: str,
    texts: Mapping[str, str],
    terms: RunTerms = DEFAULT_TERMS,
) -> dict[str, str]:
    """Ask a model of the study about each text, except texts for which a reply is already stored.

    Parameters
    ----------
    use
        Task of the model, one of `USES`.
    prompt
        Template of the prompt, with ``$text`` for the text.
    texts
        Name → text. The name is stored as an item's id and must begin with `UNIT_PREFIX`.

    Returns
    -------
    dict
        Name → reply without the model's reasoning.

    Raises
    ------
    ModelError
        If the model did not reply about a text, or the token limit cut its list of claims. Its replies about
        other texts are stored.
    """
    settings = study.model(model).model_copy(update={"structured": "never"})
    items = [Item(name, text, (OPEN_ANSWER,), (0,)) for name, text in texts.items()]
    spec = make_spec(name_side_run(model, use), settings, prompt, None, answer="free")
    wanted = RequestedItems(store, store.content.add_items(items), retry_failed=True)
    [done] = run_alone(wanted, [Target(spec, settings)], prices=study_prices(study), terms=terms)
    if done.error is not None:
        raise done.error
    replies = {p.item_id: p for p in store.runs.read_predictions(done.target.spec.id)}
    for name in texts:
        if name not in replies or replies[name].status is PredictionStatus.FAILED:
            told = replies[name].reason if name in replies else "no reply"
            raise ModelError(f"{model} did not reply ({use}): {told}; try again")
        if use == CLAIMS and replies[name].status is PredictionStatus.TRUNCATED:
            told = f"set a larger max_tokens under [models.{model}]"
            raise ModelError(f"{model}: a list of claims was cut by the token limit; {told}")
    return {name: cut_thoughts(replies[name].raw) for name in texts}
