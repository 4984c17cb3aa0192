"""Which generator proposes the candidates, and what it may spend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from synth.config import Config
    from synth.interface import Generator

Command = TypeVar("Command", bound=Callable[..., Any])

FOLDER = click.Path(path_type=Path, file_okay=False)
OPTIONS = (
    click.option("--generator", type=click.Choice(["embedded", "anthropic"]), help="embedded (default) needs no key."),
    click.option("--model", metavar="NAME", help="Of the anthropic generator. Default: ANTHROPIC_MODEL, else claude-sonnet-5-5."),
    click.option("--llm-candidates", type=click.IntRange(1, 16), metavar="K", help="First proposals per pattern."),
    click.option("--llm-rounds", type=click.IntRange(0, 20), metavar="N", help="Repairs per proposal."),
    click.option("--llm-max-tokens", type=click.IntRange(1), metavar="N", help="Budget per skill, in tokens."),
    click.option("--llm-max-cost", type=click.FloatRange(0), metavar="USD", help="Budget per skill, in money."),
    click.option("--llm-record", type=FOLDER, metavar="DIR", help="Keep every exchange with the model here."),
    click.option("--llm-replay", type=FOLDER, metavar="DIR", help="Answer from recorded exchanges only."),
)  # fmt: skip


def generation_options(command: Command) -> Command:
    """Adds the options that choose and bound the generator."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class Generation:
    """The choice, as the command line gives it."""

    generator: str
    model: str | None
    candidates: int
    rounds: int
    max_tokens: int
    max_cost_usd: float
    record: Path | None = None
    replay: Path | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any], config: Config) -> Generation:
        """From the parameters of a command that has ``generation_options``, the rest as configured."""

        def chosen(name: str, configured: Any) -> Any:
            return values[name] if values.get(name) is not None else configured

        return cls(
            generator=chosen("generator", config.generator.name),
            model=chosen("model", config.llm.model),
            candidates=chosen("llm_candidates", config.generator.candidates),
            rounds=chosen("llm_rounds", config.generator.repair_rounds),
            max_tokens=chosen("llm_max_tokens", config.llm.max_tokens),
            max_cost_usd=chosen("llm_max_cost", config.llm.max_usd),
            record=values.get("llm_record"),
            replay=values.get("llm_replay"),
        )

    @property
    def uses_model(self) -> bool:
        return self.generator == "anthropic"

    def open(self) -> Generator:
        """The generator.

        Raises:
            ConfigError: no model or no key, or two options that exclude each other.
        """
        if self.uses_model:
            from synth.claude import AnthropicGenerator, Settings

            return AnthropicGenerator(
                Settings(
                    self.model, self.candidates, self.rounds, self.max_tokens, self.max_cost_usd,
                    record=self.record, replay=self.replay,
                )
            )  # fmt: skip
        from synth.embedded import EmbeddedGenerator

        return EmbeddedGenerator()
