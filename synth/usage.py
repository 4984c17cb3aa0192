"""What a generator spent: requests, tokens, money."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Usage:
    """What a generator spent on one pattern."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = 0.0
    """None where the price of the model is not known."""
    requests: int = 0
    """Answered ones."""
    retries: int = 0
    refusals: int = 0
    malformed: int = 0
    truncated: int = 0
    events: tuple[str, ...] = ()
    """Refusals, malformed and truncated answers, in order, with what was wrong."""
    model: str = ""
    prompts: str = ""
    """SHA-256 of the prompt files that were used."""

    @property
    def tokens(self) -> int:
        """Tokens of all kinds."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens

    def __str__(self) -> str:
        """For people: requests, tokens, money."""
        cost = f"{self.cost_usd:.3f} USD" if self.cost_usd is not None else "price unknown"
        return f"{self.requests} requests, {self.tokens} tokens, {cost}"


@runtime_checkable
class Metered(Protocol):
    """A generator that counts what it spends."""

    def take_usage(self) -> Usage:
        """What was spent since the last call."""
        ...


def take_usage(generator: object) -> Usage | None:
    """The usage since the last call; None for a generator that costs nothing."""
    return generator.take_usage() if isinstance(generator, Metered) else None
