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
    click.option("--llm-max-tokens", type=click.IntRange(0), metavar="N", help="Budget per pattern, in tokens."),
    click.option("--llm-max-cost", type=click.FloatRange(0), metavar="USD", help="Budget per pattern, in money."),
    click.option("--llm-max-run-tokens", type=click.IntRange(0), metavar="N", help="Budget of the whole run, in tokens."),
    click.option("--llm-max-run-cost", type=click.FloatRange(0), metavar="USD", help="Budget of the whole run, in money."),
    click.option("--llm-max-output", type=click.IntRange(256), metavar="N", help="Tokens of one answer, thinking included."),
    click.option("--llm-effort", type=click.Choice(["low", "medium", "high", "xhigh", "max"]), help="Default: the model's own."),
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
    max_run_tokens: int | None
    max_run_cost_usd: float
    max_output_tokens: int
    effort: str | None
    config: Config
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
            max_run_tokens=chosen("llm_max_run_tokens", config.llm.max_run_tokens),
            max_run_cost_usd=chosen("llm_max_run_cost", config.llm.max_run_usd),
            max_output_tokens=chosen("llm_max_output", config.llm.max_output_tokens),
            effort=chosen("llm_effort", config.llm.effort),
            config=config,
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
            from synth.claude import AnthropicGenerator, Client, Connection, Settings
            from synth.claude.budget import Price

            llm = self.config.llm
            settings = Settings(
                self.model, self.candidates, self.rounds, self.max_tokens, self.max_cost_usd, self.max_output_tokens,
                self.record, self.replay, self.max_run_tokens, self.max_run_cost_usd, self.effort, llm.thinking, llm.strict,
                {name: Price(p.input, p.output, p.cache_read, p.cache_write) for name, p in llm.prices.items()},
                self.config.path(llm.cache_dir) if llm.cache_dir is not None else None,
            )  # fmt: skip
            return AnthropicGenerator(settings, Client(Connection(self.config.base_url, llm.timeout_s, llm.retries)))
        from synth.embedded import EmbeddedGenerator

        return EmbeddedGenerator()
