"""What may be spent on one pattern and on a whole run, in tokens and in money, and what was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from synth.llm.errors import BudgetSpent
from synth.usage import Usage

LEAST_OUTPUT = 4_000
"""Tokens below which an answer would hardly hold a skill: less room than that is not worth a request."""


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float

    def cost(self, usage: Usage) -> float:
        """USD for what was used."""
        return (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_read_tokens * self.cache_read
            + usage.cache_write_tokens * self.cache_write
        ) / 1e6


PRICES = {
    "claude-opus-5-5": Price(4.0, 20.0, 0.20, 5.0),
    "claude-opus-5": Price(5.0, 25.0, 0.50, 6.25),
    "claude-opus-4": Price(5.0, 25.0, 0.50, 6.25),
    "claude-sonnet-5-5": Price(2.0, 10.0, 0.10, 2.5),
    "claude-sonnet-5": Price(2.0, 10.0, 0.20, 2.5),
    "claude-sonnet-4": Price(3.0, 15.0, 0.30, 3.75),
    "claude-haiku-5-5": Price(0.5, 2.5, 0.05, 0.625),
    "claude-haiku-4-5": Price(1.0, 5.0, 0.10, 1.25),
    "claude-fable-5": Price(10.0, 50.0, 1.0, 12.5),
}
"""By the longest prefix of the model's name. Source: the pricing page of the service, November 2026; the dearer figure where a
model has several."""


def price_of(model: str, prices: Mapping[str, Price] = PRICES) -> Price | None:
    """The price of a model; None where it is not known."""
    fitting = [name for name in prices if model == name or model.startswith(name + "-")]
    return prices[max(fitting, key=len)] if fitting else None


@dataclass
class Budget:
    """Counts what is spent, and says how much room is left. Where no price is known, tokens alone bound it."""

    price: Price | None
    max_tokens: int | None
    max_cost_usd: float | None
    of: str = "pattern"
    """``pattern`` or ``run``: for the sentence that the user reads."""
    options: tuple[str, str] = ("--llm-max-tokens", "--llm-max-cost")
    """What raises the one and the other limit."""
    usage: Usage = field(default_factory=Usage)

    def room(self, input_tokens: int, wanted: int) -> int:
        """How many output tokens a request may have, counted at its dearest.

        Args:
            input_tokens: What it sends.
            wanted: The most that it could use.

        Raises:
            BudgetSpent: less is left than an answer needs.
        """
        least = min(wanted, LEAST_OUTPUT)
        room = wanted
        if self.max_tokens is not None:
            room = min(room, self.max_tokens - self.usage.tokens - input_tokens)
            if room < least:
                self._spent(f"{self.max_tokens} tokens", f"{self.usage.tokens}", f"{input_tokens + least}", self.options[0])
        if self.max_cost_usd is not None and self.price is not None:
            spent = self.usage.cost_usd or 0.0
            sending = input_tokens * max(self.price.input, self.price.cache_write) / 1e6
            left = self.max_cost_usd - spent - sending
            room = min(room, int(left * 1e6 / self.price.output) if self.price.output else room)
            if room < least or left < 0:
                needed = sending + least * self.price.output / 1e6
                self._spent(f"{self.max_cost_usd:g} USD", f"{spent:.3f}", f"{needed:.3f}", self.options[1])
        return room

    def _spent(self, limit: str, spent: str, needed: str, option: str) -> None:
        what = f"the budget of {limit} a {self.of} has no room for another request ({spent} spent, up to {needed} more needed)"
        raise BudgetSpent(what, f"Raise it with {option}")

    def count(self, more: Usage, share: float = 1.0) -> None:
        """Adds what was spent, whatever it was worth.

        Args:
            share: Of the price, such as a half in a batch.
        """
        numbers = {f.name: getattr(self.usage, f.name) + getattr(more, f.name) for f in fields(Usage) if f.type == "int"}
        cost = (self.usage.cost_usd or 0.0) + share * self.price.cost(more) if self.price is not None else None
        self.usage = replace(self.usage, **numbers, cost_usd=cost)
