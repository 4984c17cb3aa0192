"""What a generator that asks a model may do and spend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from synth.llm.budget import Price
from verifiers.interface import ConfigError


@dataclass(frozen=True, slots=True)
class Settings:
    model: str | None = None
    """None = as the environment or the service has it."""
    candidates: int = 3
    """First proposals per pattern."""
    rounds: int = 3
    """Repairs per proposal."""
    max_tokens: int | None = 200_000
    """Per pattern, input and output together; None = any."""
    max_cost_usd: float | None = None
    """Per pattern."""
    max_output_tokens: int = 16_000
    """Of one answer, thinking included."""
    record: Path | None = None
    replay: Path | None = None
    max_run_tokens: int | None = None
    """Over all patterns of one generator."""
    max_run_cost_usd: float | None = None
    effort: str | None = None
    """None = the model's own."""
    thinking: str | None = None
    """``adaptive`` or ``disabled``; None = the model's own."""
    strict: bool = True
    """Have the service hold answers to the schemas."""
    prices: Mapping[str, Price] = field(default_factory=dict)
    """By a model's name or the beginning of it; these come before the built-in ones."""
    cache: Path | None = None
    """Where answers are kept, so that none is paid for twice, and what was refused; None = nowhere."""

    refuse_imports: tuple[str, ...] = ()
    """Modules that no proposal may import, which the model is told."""

    def __post_init__(self) -> None:
        if self.record is not None and self.replay is not None:
            raise ConfigError("exchanges are either recorded or replayed", "Give one of --llm-record and --llm-replay")
