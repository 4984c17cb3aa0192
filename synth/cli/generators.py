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
    click.option("--generator", type=click.Choice(["embedded", "anthropic", "openai"]), help="embedded (default) needs no key."),
    click.option("--model", metavar="NAME", help="Default: ANTHROPIC_MODEL, else claude-sonnet-5-5; for openai: OPENAI_MODEL."),
    click.option("--llm-candidates", type=click.IntRange(1, 16), metavar="K", help="First proposals per pattern."),
    click.option("--llm-rounds", type=click.IntRange(0, 20), metavar="N", help="Repairs per proposal."),
    click.option("--llm-max-tokens", type=click.IntRange(0), metavar="N", help="Budget per pattern, in tokens."),
    click.option("--llm-max-cost", type=click.FloatRange(0), metavar="USD", help="Budget per pattern, in money."),
    click.option("--llm-max-run-tokens", type=click.IntRange(0), metavar="N", help="Budget of the whole run, in tokens."),
    click.option("--llm-max-run-cost", type=click.FloatRange(0), metavar="USD", help="Budget of the whole run, in money."),
    click.option("--llm-max-output", type=click.IntRange(256), metavar="N", help="Tokens of one answer, thinking included."),
    click.option("--llm-effort", type=click.Choice(["low", "medium", "high", "xhigh", "max"]), help="Default: the model's own."),
    click.option("--llm-record", type=FOLDER, metavar="DIR", help="Keep every exchange with the model here."),
    click.option("--llm-replay", type=FOLDER, metavar="DIR", help="Answer from recorded exchanges only."),
)  # fmt: skip


SETTINGS = {
    "model": "model", "llm_candidates": "candidates", "llm_rounds": "rounds", "llm_max_tokens": "max_tokens",
    "llm_max_cost": "max_cost_usd", "llm_max_run_tokens": "max_run_tokens", "llm_max_run_cost": "max_run_cost_usd",
    "llm_max_output": "max_output_tokens", "llm_effort": "effort", "llm_record": "record", "llm_replay": "replay",
}  # fmt: skip
"""Parameter of a command -> field of the generator's settings."""


def generation_options(command: Command) -> Command:
    """Adds the options that choose and bound the generator."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def asking_options(command: Command) -> Command:
    """The same where a model is asked in any case."""
    service = click.option("--generator", type=click.Choice(["anthropic", "openai"]), help="Default: configured, or anthropic.")
    for option in reversed((service, *OPTIONS[1:])):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class Generation:
    """The choice, as the command line gives it."""

    generator: str
    config: Config
    chosen: Mapping[str, Any]
    """Of the settings of a generator that asks a model, those that the command line names."""

    @classmethod
    def of(cls, values: Mapping[str, Any], config: Config) -> Generation:
        """From the parameters of a command that has ``generation_options``, the rest as configured."""
        chosen = {field: values[name] for name, field in SETTINGS.items() if values.get(name) is not None}
        return cls(values.get("generator") or config.generator.name, config, chosen)

    @property
    def uses_model(self) -> bool:
        return self.generator != "embedded"

    @property
    def proposals(self) -> int:
        """The most that a model is asked for: every repair is one too. 0 without a model."""
        configured = self.config.generator
        first, rounds = self.chosen.get("candidates", configured.candidates), self.chosen.get("rounds", configured.repair_rounds)
        return int(first * (rounds + 1)) if self.uses_model else 0

    def open(self) -> Generator:
        """The generator.

        Raises:
            ConfigError: two options that exclude each other, an address that nobody has trusted, or no model.
        """
        if self.uses_model:
            from synth.llm.configured import configured

            return configured(self.config, self.generator, **self.chosen)
        from synth.embedded import EmbeddedGenerator

        return EmbeddedGenerator()
