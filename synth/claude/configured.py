"""The anthropic generator as a configuration has it: model, budgets, service, and where answers are kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from synth.claude.budget import Price
from synth.claude.client import Client, Connection
from synth.claude.generator import AnthropicGenerator
from synth.claude.settings import Settings

if TYPE_CHECKING:
    from synth.config import Config


def configured(config: Config, **chosen: Any) -> AnthropicGenerator:
    """The generator.

    Args:
        chosen: Fields of ``Settings`` instead of the configured ones.

    Raises:
        ConfigError: the configured address is not trusted, or two of the settings exclude each other.
    """
    llm = config.llm
    settings = Settings(
        model=llm.model, candidates=config.generator.candidates, rounds=config.generator.repair_rounds,
        max_tokens=llm.max_tokens, max_cost_usd=llm.max_usd, max_output_tokens=llm.max_output_tokens,
        max_run_tokens=llm.max_run_tokens, max_run_cost_usd=llm.max_run_usd, effort=llm.effort, thinking=llm.thinking,
        strict=llm.strict, prices={n: Price(p.input, p.output, p.cache_read, p.cache_write) for n, p in llm.prices.items()},
        cache=config.path(llm.cache_dir) if llm.cache_dir is not None else None,
    )  # fmt: skip
    return AnthropicGenerator(replace(settings, **chosen), Client(Connection(config.base_url, llm.timeout_s, llm.retries)))
