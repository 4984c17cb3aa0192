"""Configuration: ``[tool.assay]`` of ``pyproject.toml``, or ``assay.yaml``.

An unknown key is an error that names the nearest known one.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from verifiers.gating.strict_yaml import UniqueLoader
from verifiers.interface import Budget, ConfigError, ImportRules, Profile, Report

if TYPE_CHECKING:
    from synth.interface import RegistryEntry
    from synth.registry.hooks import Hook

Trigger = Literal["any", "all"]
Learn = Literal["off", "tell", "background"]
FILES = ("assay.yaml", "assay.yml", "pyproject.toml")


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Evolution(_Section):
    """The seed's ``evolution:`` block, and ``trigger`` and ``min_success_rate``."""

    enabled: bool = Field(default=True, description="Whether an agent's collector records and crystallizes by itself")
    trace_dir: str = Field(default="{PRJ_DATA}/evolution/traces", description="Where traces are kept")
    learned_skills_dir: str = Field(default="{ASSETS}/skills/learned_skills", description="Where skills are registered")
    min_frequency: int = Field(default=3, ge=1, description="Successful traces from which a task counts as repeated")
    min_complexity: int = Field(default=5, ge=1, description="Commands a trace from which a task counts as complex")
    max_traces_stored: int = Field(default=1000, ge=1, description="Older traces are pruned")
    crystallization_interval: float = Field(
        default=3600, gt=0, description="Seconds between checks of 'assay crystallize --every'"
    )
    trigger: Trigger = Field(default="any", description="any: frequent or complex; all: frequent and complex")
    min_success_rate: float = Field(default=0.25, ge=0, le=1, description="Tasks that fail more often are left alone")
    learn: Learn = Field(
        default="tell", description="When hooks saw a task often enough: off, tell (say so) or background (verify, then offer)"
    )

    @field_validator("learn", mode="before")
    @classmethod
    def _yaml_reads_off_as_false(cls, value: object) -> object:
        return "off" if value is False else value


class Sandbox(_Section):
    image: str | None = Field(default=None, description="Image tag; without one, the image of assay's own recipe")
    runtime: str | None = Field(default=None, description="Container runtime, such as runsc (gVisor)")
    host: str | None = Field(default=None, description="Engine address; without one, DOCKER_HOST or the local socket")
    workers: int | None = Field(default=None, ge=1, le=256, description="Containers at a time; without one, the CPUs")
    packages: tuple[str, ...] = Field(
        default=(), strict=False, description="Debian packages in the image besides the recipe's own (then: assay engine image)"
    )


class Verify(_Section):
    profile: Profile | None = Field(default=None, description="What a skill looks like: seed or omni; without one, as it imports")
    budget: Budget = Field(default="standard", description="How many cases: fast, standard or thorough")
    min_usable: int = Field(default=3, ge=1, description="Usable traces that a PASS needs")
    seed_salt: str = Field(default="", description="A CI secret that makes sampled points unpredictable")


class Generator(_Section):
    name: Literal["embedded", "anthropic", "openai"] = Field(
        default="embedded", description="embedded (no key), anthropic, or openai (any server that speaks chat completions)"
    )
    template: Literal["skill", "command", "tool"] = Field(default="skill", description="Where a skill's import comes from")
    candidates: int = Field(default=3, ge=1, description="Candidates asked of a model for one pattern")
    repair_rounds: int = Field(default=3, ge=0, description="Rounds in which a model sees counterexamples")
    hold_out: int | None = Field(default=None, ge=0, description="Cases kept from the generator; without a number, 1")


class ModelPrice(_Section):
    input: float = Field(ge=0, description="USD per million tokens")
    output: float = Field(ge=0)
    cache_read: float = Field(ge=0)
    cache_write: float = Field(ge=0)


class Llm(_Section):
    model: str | None = Field(
        default=None, description="Model name; without one, ANTHROPIC_MODEL or OPENAI_MODEL, or the generator's own choice"
    )
    base_url: str | None = Field(
        default=None, description="Address of the service; without one, ANTHROPIC_BASE_URL or OPENAI_BASE_URL, or its own"
    )
    max_tokens: int = Field(default=200_000, ge=0, description="Tokens a pattern, input and output together")
    max_usd: float = Field(default=1.0, ge=0, description="Money a pattern, where the model's price is known")
    max_run_tokens: int | None = Field(default=None, ge=0, description="Tokens a run, over all patterns")
    max_run_usd: float = Field(default=10.0, ge=0, description="Money a run, over all patterns")
    max_output_tokens: int = Field(default=16_000, ge=256, description="Tokens of one answer, thinking included")
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = Field(
        default=None, description="Without one, the model's own"
    )
    thinking: Literal["adaptive", "disabled"] | None = Field(default=None, description="Without one, the model's own")
    strict: bool = Field(default=True, description="Have the service hold answers to the tools' schemas; not every model can")
    timeout_s: float = Field(default=120.0, gt=0, description="Seconds without a sign of an answer")
    retries: int = Field(default=8, ge=0, le=100, description="Of a request that got no answer")
    parallel: int = Field(default=4, ge=1, le=64, description="Patterns whose first proposal is asked for at the same time")
    prices: dict[str, ModelPrice] = Field(
        default_factory=dict, description="By model name or its beginning; before the built-in ones"
    )
    cache_dir: str | None = Field(default="{PRJ_DATA}/llm", description="Where answers are kept, so that none is paid for twice")


class Registry(_Section):
    dir: str | None = Field(default=None, description="Where skills are registered; without one, learned_skills_dir")
    approve: bool = Field(default=False, description="A person must approve each skill before it is active")
    signing_key: str | None = Field(default=None, description="Ed25519 private key (PEM) that attests new skills")


class Hooks(_Section):
    command: tuple[str, ...] = Field(default=(), strict=False, description="Run after the registry changed")
    url: str | None = Field(default=None, description="POSTed to after the registry changed")
    wayland: bool = Field(default=True, description="What drifts, is withdrawn or replaced loses its score in Wayland's router")


class Conventions(_Section):
    allow_imports: tuple[str, ...] = Field(default=(), strict=False, description="Modules allowed besides the built-in list")
    refuse_imports: tuple[str, ...] = Field(
        default=(), strict=False, description="Modules refused though the built-in list allows them"
    )
    allow_programs: tuple[str, ...] = Field(
        default=(), strict=False, description="Programs that skills may start besides the built-in list and the recordings' own"
    )

    @property
    def imports(self) -> ImportRules:
        return ImportRules(frozenset(self.allow_imports), frozenset(self.refuse_imports))


class _File(_Section):
    evolution: Evolution = Evolution()
    sandbox: Sandbox = Sandbox()
    verify: Verify = Verify()
    generator: Generator = Generator()
    llm: Llm = Llm()
    registry: Registry = Registry()
    hooks: Hooks = Hooks()
    conventions: Conventions = Conventions()

    @model_validator(mode="before")
    @classmethod
    def _empty_sections_are_defaults(cls, data: object) -> object:
        return {k: {} if v is None else v for k, v in data.items()} if isinstance(data, dict) else data


def _retracted(kind: str, entry: RegistryEntry) -> None:
    """What does not hold any more loses its score in Wayland's router, where there is a Wayland."""
    from synth.export.wayland import retracting_hook

    retracting_hook()(kind, entry)


@dataclass(frozen=True, slots=True)
class Config:
    """All settings, with the directory that relative paths and placeholders refer to."""

    root: Path
    evolution: Evolution = field(default_factory=Evolution)
    sandbox: Sandbox = field(default_factory=Sandbox)
    verify: Verify = field(default_factory=Verify)
    generator: Generator = field(default_factory=Generator)
    llm: Llm = field(default_factory=Llm)
    registry: Registry = field(default_factory=Registry)
    hooks: Hooks = field(default_factory=Hooks)
    conventions: Conventions = field(default_factory=Conventions)
    source: Path | None = None
    """The file that was read; None = defaults."""
    sha256: str = ""
    """Of that file's bytes."""

    @classmethod
    def default(cls, root: Path | str = ".") -> Self:
        return cls(Path(root))

    def path(self, template: str) -> Path:
        """A configured path, relative to ``root``.

        ``{PRJ_DATA}`` and ``{ASSETS}`` come from the environment, else they are ``.assay`` and ``assets``.

        Raises:
            ConfigError: another placeholder, or no path at all.
        """
        places = {"PRJ_DATA": os.environ.get("PRJ_DATA") or ".assay", "ASSETS": os.environ.get("ASSETS") or "assets"}
        text = template
        for name, value in places.items():
            text = text.replace("{" + name + "}", value)
        if "{" in text:
            raise ConfigError(f"path {template!r} has an unknown placeholder", "Known: {PRJ_DATA} and {ASSETS}", self.source)
        try:
            os.fsencode(text)
            found = self.root / Path(text).expanduser()
        except (UnicodeEncodeError, RuntimeError) as e:
            raise ConfigError(f"path {text!r} cannot be used: {e}", "Name another directory", self.source) from e
        if "\0" in text:
            raise ConfigError(f"path {text!r} has a NUL character", "Name another directory", self.source)
        return found

    @property
    def trace_dir(self) -> Path:
        return self.path(self.evolution.trace_dir)

    @property
    def learned_skills_dir(self) -> Path:
        return self.path(self.evolution.learned_skills_dir)

    @property
    def registry_dir(self) -> Path:
        return self.path(self.registry.dir) if self.registry.dir is not None else self.learned_skills_dir

    @property
    def untrusted(self) -> Path | None:
        """The file whose commands and addresses nobody has trusted; None where there is none to trust."""
        from synth.trust import is_trusted

        outside = self.hooks.command or self.hooks.url or self.llm.base_url
        return self.source if outside and self.source is not None and not is_trusted(self.source, self.sha256) else None

    def reindex_hooks(self) -> tuple[Hook, ...]:
        """What is told of every change of the registry; commands and addresses of a file only if somebody has trusted it.

        Raises:
            ConfigError: a configured one is no command line.
        """
        from synth.registry.hooks import hook_from

        lines = (*self.hooks.command, *filter(None, [self.hooks.url]))
        hooks = tuple(hook_from(line) for line in lines)
        found = hooks if self.untrusted is None else ()
        return (*found, _retracted) if self.hooks.wayland else found

    @property
    def base_url(self) -> str | None:
        """Where the model's service is. The key is sent there: an address of a file counts only if somebody has trusted it.

        Raises:
            ConfigError: nobody has.
        """
        if self.llm.base_url is not None and self.untrusted is not None:
            advice = f"Read the file, then: assay config trust {self.source}"
            raise ConfigError("llm.base_url would get your key", advice, self.source)
        return self.llm.base_url

    def attest(self) -> Callable[[Path, Report], object] | None:
        """What signs the report on a registered version, with ``registry.signing_key``; None without a key.

        Raises:
            KeyFileError: the key cannot be read.
        """
        if self.registry.signing_key is None:
            return None
        from synth.attest import signer

        return signer(self.path(self.registry.signing_key))

    @property
    def patterns_file(self) -> Path:
        """The pattern cache, beside the trace directory as in the seed."""
        return self.trace_dir.parent / "patterns.json"


def load_config(path: Path | str | None = None, start: Path | str = ".") -> Config:
    """The configuration in ``path``, else the nearest one at or above ``start``, else the defaults.

    Raises:
        ConfigError: names the file and the key; also when one directory has both kinds.
    """
    if path is None:
        path = next(files_above(Path(start)), None)
    if path is None:
        return Config(Path(start).absolute())
    return parse_config(_bytes(Path(path)), Path(path))


def files_above(start: Path, refused: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """Files that configure assay, nearest first: ``assay.yaml``, and ``pyproject.toml`` with a ``[tool.assay]`` table.

    Args:
        refused: Not looked into.

    Raises:
        ConfigError: a file cannot be read, or one directory has both kinds.
    """
    here = start.absolute()
    for directory in (here, *here.parents):
        there = (p for name in FILES if (p := directory / name).is_file() and p not in refused)
        found = [p for p in there if p.suffix != ".toml" or _data(_bytes(p), p) is not None]
        if len(found) > 1:
            raise ConfigError(f"{found[0].name} and {found[1].name} both configure assay", "Keep one of them", directory)
        yield from found


def parse_config(content: bytes, path: Path, root: Path | None = None) -> Config:
    """The configuration that a file's bytes say.

    Args:
        root: What relative paths refer to; without one, the file's directory.

    Raises:
        ConfigError: names the file and the key.
    """
    data = _data(content, path)
    try:
        file = _File.model_validate({} if data is None else data)
    except ValidationError as e:
        raise _error(path, e) from e
    sections = {name: getattr(file, name) for name in _File.model_fields}
    digest = hashlib.sha256(content).hexdigest()
    return Config(root=root or path.absolute().parent, source=path, sha256=digest, **sections)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as e:
        raise ConfigError(f"cannot be read: {e.strerror}", "Name an assay.yaml or pyproject.toml", path) from e


def _data(content: bytes, path: Path) -> object | None:
    """The settings in a file's bytes; None where it has none."""
    try:
        text = content.decode("utf-8")
        if path.suffix == ".toml":
            tool = tomllib.loads(text).get("tool", {})
            return tool.get("assay") if isinstance(tool, dict) else None
        document: object = yaml.load(text, Loader=UniqueLoader)
        return document
    except UnicodeDecodeError as e:
        raise ConfigError(f"is not UTF-8 text (byte {e.start})", "", path) from e
    except (tomllib.TOMLDecodeError, yaml.YAMLError, ValueError, TypeError, AttributeError, RecursionError) as e:
        raise ConfigError(f"cannot be parsed: {' '.join(str(e).split())}", "", path) from e


def _error(path: Path, error: ValidationError) -> ConfigError:
    first, *others = error.errors()
    where = ".".join(str(part) for part in first["loc"]) or "the file"
    more = f" (and {len(others)} more)" if others else ""
    if first["type"] == "extra_forbidden":
        known = _keys_at(first["loc"][:-1])
        near = difflib.get_close_matches(str(first["loc"][-1]), known, n=1, cutoff=0.0)
        advice = f"Did you mean {near[0]!r}? Known keys: {', '.join(known)}" if near else ""
        return ConfigError(f"unknown key {where!r}{more}", advice, path)
    return ConfigError(f"{where}: {first['msg'].lower()}, got {first['input']!r}{more}", "", path)


def _keys_at(loc: tuple[int | str, ...]) -> list[str]:
    """Known keys below a location."""
    fields: Mapping[str, Any] = _File.model_fields
    for part in loc:
        if (field := fields.get(str(part))) is not None:  # else a key of a mapping, such as a model's name
            fields = (get_args(field.annotation) or (field.annotation,))[-1].model_fields
    return list(fields)
