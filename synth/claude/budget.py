"""What may be spent on one skill, in tokens and in money, and what was."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from synth.claude.errors import BudgetSpent
from synth.claude.exchange import Answer, Request
from synth.usage import Usage


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
DEAREST = Price(10.0, 50.0, 1.0, 12.5)
"""Held against the budget where the price of a model is not known."""


def price_of(model: str) -> Price | None:
    """The price of a model; None where it is not known."""
    fitting = [name for name in PRICES if model == name or model.startswith(name + "-")]
    return PRICES[max(fitting, key=len)] if fitting else None


@dataclass
class Budget:
    """Counts what is spent and refuses what would go over. One per pattern."""

    model: str
    max_tokens: int
    max_cost_usd: float | None
    usage: Usage = field(default_factory=Usage)

    def allow(self, request: Request) -> None:
        """Returns if the request fits, counted at its worst: its text, and all the output that it may have.

        Raises:
            BudgetSpent: it does not.
        """
        # Three characters a token errs on the dear side for code and JSON.
        text = len(request.system) + len(request.evidence) + len(request.instruction)
        worst = Usage(input_tokens=text // 3 + 1, output_tokens=request.max_output_tokens)
        spent = self.usage.tokens
        if spent + worst.tokens > self.max_tokens:
            what = f"the budget of {self.max_tokens} tokens is used up ({spent} spent)"
            raise BudgetSpent(what, "Raise it with --llm-max-tokens")
        if self.max_cost_usd is None:
            return
        price = price_of(self.model) or DEAREST
        cost = price.cost(self.usage)
        if cost + price.cost(worst) > self.max_cost_usd:
            what = f"the budget of {self.max_cost_usd:.2f} USD is used up ({cost:.2f} spent)"
            raise BudgetSpent(what, "Raise it with --llm-max-cost")

    def count(self, answer: Answer) -> None:
        """Adds an answer, whatever it was worth."""
        u = self.usage
        self.usage = replace(
            u,
            input_tokens=u.input_tokens + answer.input_tokens,
            output_tokens=u.output_tokens + answer.output_tokens,
            cache_read_tokens=u.cache_read_tokens + answer.cache_read_tokens,
            cache_write_tokens=u.cache_write_tokens + answer.cache_write_tokens,
            requests=u.requests + 1,
            retries=u.retries + answer.retries,
        )
        price = price_of(self.model)
        self.usage = replace(self.usage, cost_usd=price.cost(self.usage) if price is not None else None)
