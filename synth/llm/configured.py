"""A generator that asks a model, as a configuration has it: model, budgets, service, and where answers are kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from synth.llm.budget import Price
from synth.llm.generator import ModelGenerator
from synth.llm.service import Connection, Service
from synth.llm.settings import Settings
from verifiers.interface import ConfigError

if TYPE_CHECKING:
    from synth.config import Config


def configured(config: Config, service: str, **chosen: Any) -> ModelGenerator:
    """The generator.

    Args:
        service: ``anthropic`` or ``openai``.
        chosen: Fields of ``Settings`` instead of the configured ones.

    Raises:
        ConfigError: the configured address is not trusted, two of the settings exclude each other, no model is named where there
            is no default, or the SDK is not installed.
    """
    llm = config.llm
    settings = Settings(
        model=llm.model, candidates=config.generator.candidates, rounds=config.generator.repair_rounds,
        max_tokens=llm.max_tokens, max_cost_usd=llm.max_usd, max_output_tokens=llm.max_output_tokens,
        max_run_tokens=llm.max_run_tokens, max_run_cost_usd=llm.max_run_usd, effort=llm.effort, thinking=llm.thinking,
        strict=llm.strict, prices={n: Price(p.input, p.output, p.cache_read, p.cache_write) for n, p in llm.prices.items()},
        cache=config.path(llm.cache_dir) if llm.cache_dir is not None else None, refuse_imports=config.conventions.refuse_imports,
    )  # fmt: skip
    return ModelGenerator(replace(settings, **chosen), _client(service, Connection(config.base_url, llm.timeout_s, llm.retries)))


def _client(service: str, connection: Connection) -> Service:
    if service == "anthropic":
        from synth.llm.messages import MessagesClient

        return MessagesClient(connection)
    try:
        from synth.llm.completions import CompletionsClient
    except ModuleNotFoundError as e:
        raise ConfigError(f"{e.name} is not installed", "Install it with: python3 -m pip install openai") from e
    return CompletionsClient(connection)
