"""What a skill imports: the ``skill_command`` decorator, ``Query`` and ``nu``.

This module is on the path inside the sandbox, is what mypy sees when it checks a skill, and is what ``synth.registry.load``
gives to a registered skill in the running process. Standard library only.
"""

from __future__ import annotations

import functools
import inspect
import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar, overload

__all__ = ["NuError", "Parameter", "Query", "SkillConfig", "nu", "skill_command"]

P = ParamSpec("P")
R = TypeVar("R")

MARK = "__skill_command__"
"""Attribute under which a decorated function carries its ``SkillConfig``."""


@dataclass(frozen=True)
class Parameter:
    """A parameter's default and description, as ``Query`` was told. ``default`` is ``...`` where the caller must give a value."""

    default: Any = ...
    description: str = ""

    @property
    def required(self) -> bool:
        return self.default is ...


@dataclass(frozen=True)
class SkillConfig:
    """What the decorator was told about a skill."""

    name: str
    description: str
    category: str = "general"
    title: str | None = None
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False
    autowire: bool = True
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Every other keyword, kept as it was given."""


def Query(default: Any = ..., *, description: str = "", **_: Any) -> Any:
    """The default and description of a parameter; ``...`` makes it required. Typed ``Any`` so that it fits every annotation."""
    return Parameter(default, description)


@overload
def skill_command(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def skill_command(
    *,
    name: str | None = None,
    description: str | None = None,
    category: str = "general",
    title: str | None = None,
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    open_world: bool = False,
    autowire: bool = True,
    **extra: Any,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def skill_command(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Marks the one public function of a skill file. Calling the result calls the function, with ``Query`` defaults filled in.

    Raises (at the call):
        TypeError: an argument is unknown, or a required one is missing; the message names it.
    """
    if function is not None:
        return _decorate(function, {})
    return lambda wrapped: _decorate(wrapped, options)


def _decorate(function: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    signature = inspect.signature(function)
    config = _config(function, signature, options)

    def bound(args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        try:
            call = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{function.__name__}(): {error}") from None
        for name, parameter in config.parameters.items():
            if name not in call.arguments and parameter.required:
                raise TypeError(f"{function.__name__}(): missing a required argument: {name!r}")
        call.apply_defaults()
        for name, value in call.arguments.items():
            if isinstance(value, Parameter):
                call.arguments[name] = value.default
        return call

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            call = bound(args, kwargs)
            return await function(*call.args, **call.kwargs)

    else:

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            call = bound(args, kwargs)
            return function(*call.args, **call.kwargs)

    setattr(wrapper, MARK, config)
    return wrapper


def _config(function: Callable[..., Any], signature: inspect.Signature, options: dict[str, Any]) -> SkillConfig:
    known = {f for f in SkillConfig.__dataclass_fields__ if f not in ("parameters", "extra")}
    named = {k: v for k, v in options.items() if k in known and v is not None}
    named.setdefault("name", function.__name__)
    named.setdefault("description", (inspect.getdoc(function) or "").partition("\n")[0])
    parameters = {
        name: p.default if isinstance(p.default, Parameter) else Parameter(... if p.default is p.empty else p.default)
        for name, p in signature.parameters.items()
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }
    extra = {k: v for k, v in options.items() if k not in known}
    return SkillConfig(**named, parameters=parameters, extra=extra)


class NuError(RuntimeError):
    """Nushell refused the script or failed while running it; the message is what it printed."""


class _Nu:
    """Runs Nushell. Values reach the script as the record ``$values``, as data; they never become part of its text."""

    def run(self, script: str, /, **values: Any) -> Any:
        """What the script's last pipeline evaluates to, as JSON values.

        Args:
            script: Nushell source, a constant. It reads its inputs as ``$values.NAME``.
            values: JSON values.

        Raises:
            NuError: Nushell is not installed, or the script failed.
            TypeError: a value is not JSON.
        """
        source = f"let values = ($in | from json)\ndo {{\n{script}\n}} | to json --raw"
        command = ["nu", "--no-config-file", "--no-std-lib", "--stdin", "-c", source]
        try:
            done = subprocess.run(command, input=json.dumps(values).encode(), capture_output=True, check=False)
        except FileNotFoundError:
            raise NuError("Nushell (nu) is not installed here") from None
        if done.returncode != 0:
            raise NuError(done.stderr.decode("utf-8", "replace").strip() or f"nu ended with status {done.returncode}")
        text = done.stdout.decode("utf-8", "surrogateescape").strip()
        return json.loads(text) if text else None


nu = _Nu()
