"""A forecast of what a run would cost, before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date

from harness.llm.limits import PriceTable
from harness.llm.models import TokenGuess
from harness.llm.runner.prompt import make_request
from harness.llm.runner.targets import Target, Wanted, load_items, price_target


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What one model would still use.

    Attributes
    ----------
    calls
        Answers without a stored one.
    input_tokens, output_tokens
        Expected: from the run's stored answers where there are some, else from the length of the
        prompts (three bytes a token, rather too many) and `max_tokens`; None without any of these.
    usd, usd_batch
        Their price, and that through the Batch API; None where price or output are unknown.
    checked
        When the prices were looked up.
    """

    name: str
    calls: int
    input_tokens: int
    output_tokens: int | None
    usd: float | None
    usd_batch: float | None
    checked: date | None

    def __str__(self) -> str:
        """One line for the terminal."""
        output = "an unknown number of" if self.output_tokens is None else f"~{self.output_tokens:,}"
        line = f"{self.name}: {self.calls:,} calls, ~{self.input_tokens:,} tokens sent, {output} received"
        if self.usd is None:
            what = "set max_tokens" if self.output_tokens is None else "add the model to prices.toml"
            return f"{line}; cost unknown: {what}"
        dated = f" (prices of {self.checked})" if self.checked else ""
        return f"{line}; ~${self.usd:.4g}, by batch ~${self.usd_batch:.4g}{dated}"


def forecast(wanted: Wanted, target: Target, prices: PriceTable) -> Forecast:
    """Count what is left to ask of a model and what that will take; sends nothing.

    A feature that was not tried yet is taken to be offered.
    """
    target = price_target(target, prices)
    settings, store = target.settings, wanted.store
    features = {"structured": settings.structured != "never", "logprobs": settings.logprobs}
    update = {
        feature: store.endpoints.read_probe(settings.where, settings.model, feature) is not False
        for feature, asked in features.items()
        if asked
    }
    spec = target.spec.model_copy(update=update)
    calls = sent = 0
    guess = TokenGuess()
    for item, _ in load_items(store, wanted.find_left(replace(target, spec=spec))):
        calls += 1
        sent += guess.guess(make_request(spec, item))[0]
    known = [u for u in store.runs.sum_usage(spec.id) if u.input_tokens]
    answers = sum(u.predictions for u in known)
    if answers:
        sent = round(calls * sum(u.input_tokens for u in known) / answers)
        received: int | None = round(calls * sum(u.output_tokens for u in known) / answers)
    else:
        received = calls * spec.max_tokens if spec.max_tokens is not None else None
    usd = batch = None
    if target.price is not None and received is not None:
        usd = target.price.dollars(sent, received)
        batch = target.price.in_batch().dollars(sent, received)
    return Forecast(
        name=spec.name,
        calls=calls,
        input_tokens=sent,
        output_tokens=received,
        usd=usd,
        usd_batch=batch,
        checked=prices.checked,
    )
