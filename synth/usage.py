"""What a generator spent: requests, tokens, money."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Usage:
    """What a generator spent on one pattern."""

    input_tokens: int = 0
    """Neither read from the service's cache nor written to it."""
    output_tokens: int = 0
    """Thinking included."""
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    thinking_tokens: int = 0
    """Of the output."""
    cost_usd: float | None = 0.0
    """None where the price of the model is not known."""
    requests: int = 0
    """Answered ones, and those whose answer broke off."""
    reused: int = 0
    """Answers that were on disk already and cost nothing again."""
    retries: int = 0
    refusals: int = 0
    malformed: int = 0
    truncated: int = 0
    events: tuple[str, ...] = ()
    """Refusals, malformed, truncated and lost answers, in order, with what was wrong."""
    model: str = ""
    prompts: str = ""
    """SHA-256 of the prompt files that were used."""

    @property
    def tokens(self) -> int:
        """Tokens of all kinds."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def cost(self) -> str:
        """For people."""
        return f"{self.cost_usd:.3f} USD" if self.cost_usd is not None else "price unknown"

    def __str__(self) -> str:
        """For people: requests, tokens, money."""
        reused = f", {self.reused} answers reused" if self.reused else ""
        return f"{self.requests} requests, {self.tokens} tokens, {self.cost}{reused}"


def total(usages: Iterable[Usage]) -> Usage:
    """All of them together; the cost is None as soon as one is not known."""
    rows = list(usages)
    numbers = {f.name: sum(getattr(u, f.name) for u in rows) for f in fields(Usage) if f.type == "int"}
    costs = [u.cost_usd for u in rows]
    cost = None if any(c is None for c in costs) else sum(c for c in costs if c is not None)
    models = dict.fromkeys(u.model for u in rows if u.model)
    return Usage(**numbers, cost_usd=cost, events=tuple(e for u in rows for e in u.events), model=", ".join(models))


@runtime_checkable
class Metered(Protocol):
    """A generator that counts what it spends."""

    def take_usage(self, *, last: bool = False) -> Usage:
        """What was spent on the pattern since the last call.

        Args:
            last: No pattern follows: with what was spent ahead on those that were not taken up.
        """
        ...


def take_usage(generator: object, *, last: bool = False) -> Usage | None:
    """The usage since the last call; None for a generator that costs nothing."""
    return generator.take_usage(last=last) if isinstance(generator, Metered) else None
