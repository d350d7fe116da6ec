"""Check before a run whether endpoints answer, and which features their models offer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NoReturn, TypeAlias

import orjson

from oversight.harness.config import ModelSection
from oversight.harness.errors import BudgetSpent, ConfigError, ModelError, OversightError, RefusedRequest
from oversight.harness.llm.limits.budget import Budget
from oversight.harness.llm.limits.limiter import Limiter
from oversight.harness.llm.models.interface import (
    ModelFunction,
    ModelReply,
    Request,
    RunnableModel,
)
from oversight.harness.llm.models.limited_model import LimitedModel
from oversight.harness.llm.models.made_models import make_model
from oversight.harness.llm.runner.event_loop import run_in_loop
from oversight.harness.llm.runner.prompt import CHOICES, answer_schema
from oversight.harness.llm.runner.targets import RequestedItems, Target
from oversight.harness.output import say
from oversight.harness.store import UNDER_WAY, Store, Uncertain
from oversight.harness.types import Usage

_NEVER_SAID = ("green-4", "blue-7")
"""Texts with which a model answers only if a constraint forces it to."""
_QUESTION = "Is 2 smaller than 3? Answer yes or no."
_Feature = str
"""Feature of a model: ``"structured"``, ``"logprobs"``, or ``"choice:NAME"`` with a NAME of `CHOICES`."""
_Ask: TypeAlias = Callable[[Request], Awaitable[ModelReply]]
MakeModel: TypeAlias = Callable[[ModelSection, ModelFunction | None], RunnableModel]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A target whose endpoint was checked.

    Attributes
    ----------
    target
        The target; without an error, its spec contains the features that the model
        offers.
    error
        Reason why the model cannot be called, for example an unreachable endpoint, a
        refused key or a spent budget; None if it can be called.
    used
        Usage of the calls that tested the model's features.
    """

    target: Target
    error: OversightError | None
    used: Usage


def prepare(
    wanted: RequestedItems,
    targets: Sequence[Target],
    budgets: Sequence[Budget | None] = (),
    *,
    uncertain: Uncertain = "retry",
    make_model: MakeModel = make_model,
) -> list[Prepared]:
    """Find out which features each model offers, and check that every needed endpoint answers.

    An endpoint is checked only if its model has unanswered items or untested features. The result of a test
    is stored by model and endpoint. A feature that a model did not offer in an earlier test is tested again
    if the run needs the feature, or if the run has neither answers nor an unfinished batch. A run with
    answers or an unfinished batch keeps its features, because other features would make it another run.

    Parameters
    ----------
    budgets
        One budget per target (None means no limit), or empty. Earlier usage of each run
        is first charged to its budget, even if the model cannot be called now. Tests of
        features are charged too.
    uncertain
        What happens to answers that were unfinished when an earlier command was killed,
        see `oversight.harness.store.calls.call_repository.CallRepository.charge_left`.
    make_model
        Function that creates the clients to check.

    Raises
    ------
    ConfigError
        If an API key, a function or a command is missing, or a required feature is not offered:
        ``structured = "always"``, ``answer = "choice"``, or log-probabilities of a judge.
    OversightError
        If no model can be called. The error is that of the first model.
    """
    models = [make_model(target.settings, target.function) for target in targets]
    looks = _Looks(wanted)
    counted = set[str]()

    def count(target: Target, budget: Budget | None) -> None:
        if budgets and target.spec.id not in counted:
            counted.add(target.spec.id)
            _count_before(wanted.store, target, budget, uncertain)

    async def look() -> list[Prepared]:
        found = list[Prepared]()
        try:
            for target, model, budget in zip(targets, models, budgets or [None] * len(targets), strict=True):
                used = Usage()
                try:
                    settled = await looks.look(target, model, budget, used)
                    count(settled, budget)
                    found.append(Prepared(target=settled, error=None, used=used))
                except (ModelError, BudgetSpent) as error:
                    found.append(Prepared(target=target, error=error, used=used))
        finally:
            for model in models:
                await model.close()
        return found

    for target, budget in zip(targets, budgets, strict=bool(budgets)):
        known = target.read_features(wanted.store)
        if None not in known.values():
            count(target.with_features(known), budget)
    found = run_in_loop(look())
    errors = [one.error for one in found if one.error is not None]
    if errors and len(errors) == len(found):
        raise errors[0]
    return found


def _count_before(store: Store, target: Target, budget: Budget | None, uncertain: Uncertain) -> None:
    """Charge a run's budget with the usage of its earlier commands.

    An answer that was unfinished when a command was killed is charged with its maximum
    usage.
    """
    left = store.calls.charge_left(target.spec.id, uncertain)
    if left.answers:
        held = "" if uncertain == "retry" else "; they count as failed, see --retry-errors"
        say(
            f"{target.spec.name}: {left.answers} answers were unfinished when an earlier command ended; each "
            f"is charged with its maximum usage, in total {left.input_tokens:,} input and "
            f"{left.output_tokens:,} output tokens{held}"
        )
    if budget is not None:
        runs, run_id = store.runs, target.spec.id
        budget.charge_before(runs.sum_usage(run_id), runs.read_prices(run_id))


@dataclass(slots=True)
class _Looks:
    """Tests features of models, and checks each endpoint once."""

    wanted: RequestedItems
    looked: set[str] = field(default_factory=set)
    tested: set[tuple[str, str, _Feature]] = field(default_factory=set)

    async def look(self, target: Target, model: RunnableModel, budget: Budget | None, used: Usage) -> Target:
        limited = LimitedModel(model, Limiter(1), target.settings.tries, is_billed=not target.is_program)
        hold = None if budget is None else budget.hold

        async def offers(feature: _Feature, *, is_needed: bool = False) -> bool:
            ask = partial(limited.ask, counts=used, hold=hold)
            again = is_needed or not self._has_begun(target)
            return await self._offers(target, model, feature, ask, again=again)

        features = target.read_features(self.wanted.store)
        needed = {
            "structured": target.settings.structured == "always",
            "logprobs": target.spec.name in self.wanted.judges,
        }
        for feature in features:
            if feature == "choice":
                features[feature] = await self._choose(target, offers)
                continue
            features[feature] = await offers(feature, is_needed=needed[feature])
            if needed[feature] and not features[feature]:
                self._refuse_without(target, feature)
        target = target.with_features(features)
        if any(self.wanted.find_left(target)):
            await self._check(target, model)
        return target

    def _refuse_without(self, target: Target, feature: _Feature) -> NoReturn:
        """Raise `ConfigError`, because the target cannot be run without a feature."""
        name, where = target.spec.name, target.settings.where
        if feature == "structured":
            raise ConfigError(
                f'{name}: structured = "always", but {where} does not follow a JSON Schema; use "auto" or '
                '"never"'
            )
        raise ConfigError(
            f"{name}: logprobs = true, but {where} returns no log-probabilities, so there are no judge "
            "probabilities; use samples = 5, or logprobs = false"
        )

    async def _choose(self, target: Target, offers: Callable[[_Feature], Awaitable[bool]]) -> str:
        """Return the first request field in `CHOICES` that the model supports.

        The fields in `CHOICES` restrict answers to given texts.

        Raises
        ------
        ConfigError
            If the model supports none of these fields.
        """
        for name in CHOICES if target.settings.api_version is None else ():
            if await offers(f"choice:{name}"):
                return name
        raise ConfigError(
            f'{target.spec.name}: [prompt] answer = "choice", but {target.settings.where} supports '
            f'none of the fields {", ".join(CHOICES)}, which limit an answer to given texts; use "schema" or '
            '"line"'
        )

    async def _check(self, target: Target, model: RunnableModel) -> None:
        if target.settings.where not in self.looked:
            await model.check()
            self.looked.add(target.settings.where)

    async def _offers(
        self, target: Target, model: RunnableModel, feature: _Feature, ask: _Ask, *, again: bool
    ) -> bool:
        """Whether a model offers a feature; with `again`, a stored negative result is tested again."""
        probes, key = self.wanted.store.calls, (target.settings.where, target.settings.model, feature)
        known = probes.read_probe(*key)
        if known is None or (again and not known and key not in self.tested):
            await self._check(target, model)
            try:
                known, detail = await _probe(ask, feature)
            except RefusedRequest:
                if known is None:
                    raise
                return known  # the endpoint refused the new test, so the stored result is kept
            probes.add_probe(*key, offered=known, detail=detail)
            self.tested.add(key)
        return known

    def _has_begun(self, target: Target) -> bool:
        """Whether the run with the stored features has answers or an unfinished batch."""
        store, run = self.wanted.store, target.settled(self.wanted.store).spec.id
        return store.runs.count_predictions(run) > 0 or bool(store.calls.read_batches(run, UNDER_WAY))


async def _probe(ask: _Ask, feature: _Feature) -> tuple[bool, str]:
    """Test with a short question whether a model offers a feature.

    Returns
    -------
    bool, str
        Whether the model offers the feature, and the beginning of the reply or error as
        evidence.

    Raises
    ------
    ModelError
        If no answer arrived for a reason unrelated to the feature.
    """
    _, _, choice = feature.partition(":")
    if feature == "structured":
        request = Request.of(_QUESTION, schema=answer_schema(("yes", "no")))
    elif choice:
        request = Request.of(_QUESTION, max_tokens=64, constraint=CHOICES[choice](_NEVER_SAID))
    else:
        request = Request.of(_QUESTION, max_tokens=64, logprobs=True)
    try:
        reply = await ask(request)
    except RefusedRequest as error:
        # 403 and 404 mean that the model is forbidden or missing, and say nothing about the feature.
        if error.status in (403, 404):
            raise
        return False, str(error)
    if choice:  # a server may ignore the unknown field and answer without the constraint
        return reply.text.strip() in _NEVER_SAID, reply.text[:200]
    if feature == "logprobs":
        return bool(reply.logprobs), f"{len(reply.logprobs)} tokens"
    try:
        found = orjson.loads(reply.text)
    except orjson.JSONDecodeError:
        return False, reply.text[:200]
    # A server may follow the schema, ignore it, or answer in JSON of another form.
    return isinstance(found, dict) and found.get("answer") in ("yes", "no"), reply.text[:200]
