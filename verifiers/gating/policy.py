"""The gate's policy: a YAML file that says what must hold. Unknown keys are errors: a misspelt rule must not be a rule less."""

from __future__ import annotations

import difflib
import hashlib
import os
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from verifiers import checks
from verifiers.gating.strict_yaml import UniqueLoader
from verifiers.interface import ConfigError

CAPABILITIES = ("chmods", "creates", "deletes", "follows-outside-paths", "links", "overwrites", "read-only", "renames")
SCORE = "score"
"""A waiver for this "check" lifts the minimum score."""

QUESTIONS = "questions"
WAIVABLE = (SCORE, "approval", "attestation", "evidence", "min_usable", QUESTIONS, "torn-write")
"""What a waiver may lift besides checks and forbidden capabilities."""


@cache
def known_checks() -> tuple[str, ...]:
    """Ids of all checks, told from their files' names: a cached gate need not load them."""
    return tuple(m.name.replace("_", "-") for m in pkgutil.iter_modules(checks.__path__) if not m.name.startswith("_"))


@dataclass(frozen=True, slots=True)
class Waiver:
    """One check that one skill need not pass, for a while."""

    skill: str
    check: str
    reason: str
    expires: date
    """The last day on which it holds."""

    def expired(self, today: date) -> bool:
        """Whether it no longer holds on that day."""
        return today > self.expires


@dataclass(frozen=True, slots=True)
class Policy:
    """What the gate asks for. The defaults are the strictest that need no set-up."""

    required: tuple[str, ...] = ()
    """Checks that must have run, beyond those required by default (docs/semantics.md, "Results and merging")."""
    minimum_score: float = 0.0
    min_usable: int = 3
    waivers: tuple[Waiver, ...] = ()
    evidence: str = "any"
    """``any``, or ``pinned``: evidence and bindings may not have changed since --since, unless they are signed."""
    approval: bool = False
    """A person must have approved this very version."""
    forbid: tuple[str, ...] = ()
    """Measured capabilities that no skill may have."""
    seed_salt: str = field(default="", repr=False)
    """A secret of the CI that goes into the sampling seed."""
    cache: str = "untrusted"
    """``trusted``: cached verdicts are read in CI too."""
    torn_writes: str = "report"
    """``report``, or ``fail``: a torn write closes the gate."""
    questions: int | None = None
    """How many open questions a skill may have; None = any number, they are reported."""

    @property
    def salt_digest(self) -> str:
        """SHA-256 (hex, 16 digits) of the salt, for reports; "" without one."""
        return hashlib.sha256(self.seed_salt.encode()).hexdigest()[:16] if self.seed_salt else ""


DEFAULTS = Policy()


def load_policy(path: str | Path, environ: Mapping[str, str] | None = None, defaults: Policy = DEFAULTS) -> Policy:
    """Returns the policy of a YAML file, with ``defaults`` for what it does not say.

    Raises:
        ConfigError: the file cannot be read, is not YAML, or has an unknown key or a wrong value; says where.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as e:
        raise ConfigError(f"cannot be read ({e.strerror or e})", "Give another file with --policy.", file) from e
    except UnicodeDecodeError as e:
        raise ConfigError("is not UTF-8 text", where=file) from e
    try:
        data = yaml.load(text, Loader=UniqueLoader)
    except (yaml.YAMLError, RecursionError, ValueError, TypeError, AttributeError) as e:
        mark = getattr(e, "problem_mark", None)
        where = f"{file}:{mark.line + 1}" if mark is not None else str(file)
        raise ConfigError(f"is not YAML: {getattr(e, 'problem', None) or e}", where=where) from e
    return policy_from_data(data, str(file), environ, defaults)


def policy_from_data(
    data: object, where: str = "policy", environ: Mapping[str, str] | None = None, defaults: Policy = DEFAULTS
) -> Policy:
    """Returns the policy that parsed YAML describes. Raises ConfigError naming the key."""
    env = os.environ if environ is None else environ
    if data is None:
        return defaults
    rows = _mapping(data, where)
    readers: Mapping[str, Callable[[object, str], Any]] = {
        "required": _checks,
        "minimum_score": _fraction,
        "min_usable": _count,
        "waivers": _waivers,
        "evidence": _choice("any", "pinned"),
        "approval": _required,
        "forbid": _capabilities,
        "seed_salt": lambda value, at: _salt(value, at, env),
        "cache": _choice("trusted", "untrusted"),
        "torn_writes": _choice("report", "fail"),
        QUESTIONS: _questions,
    }
    _known(rows, tuple(readers), where)
    return replace(defaults, **{key: readers[key](value, f"{where}: {key}") for key, value in rows.items()})


# ---------------------------------------------------------------- values


def _waivers(value: object, where: str) -> tuple[Waiver, ...]:
    out = []
    for n, row in enumerate(_sequence(value, where)):
        at = f"{where}[{n}]"
        data = _mapping(row, at)
        names = ("skill", "check", "reason", "expires")
        _known(data, names, at)
        if missing := [name for name in names if name not in data]:
            raise ConfigError(f"has no {missing[0]}", "A waiver needs skill, check, reason and expires.", at)
        texts = [_text(data[name], f"{at}: {name}") for name in names[:3]]
        _among(texts[1], (*known_checks(), *WAIVABLE, *CAPABILITIES), "check", f"{at}: check")
        out.append(Waiver(texts[0], texts[1], texts[2], _day(data["expires"], f"{at}: expires")))
    return tuple(out)


def _day(value: object, where: str) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        try:
            return date.fromisoformat(value)
        except ValueError as e:
            raise ConfigError(f"{value} is not a day of the calendar", where=where) from e
    raise ConfigError(f"{value!r} is not a date", "Write it as 2027-01-31.", where)


def _salt(value: object, where: str, environ: Mapping[str, str]) -> str:
    if isinstance(value, str) and value:
        return value
    name = _mapping(value, where).get("env")
    if not isinstance(name, str) or set(_mapping(value, where)) != {"env"}:
        raise ConfigError("is neither text nor {env: NAME}", where=where)
    if not environ.get(name):
        raise ConfigError(f"the environment variable {name} is not set", "Hand the secret to the job that runs the gate.", where)
    return environ[name]


def _required(value: object, where: str) -> bool:
    if isinstance(value, bool):
        return value
    return bool(_choice("required", "none")(value, where) == "required")


def _choice(*allowed: str) -> Callable[[object, str], str]:
    def read(value: object, where: str) -> str:
        if value not in allowed:
            raise ConfigError(f"{value!r} is not one of {', '.join(allowed)}", where=where)
        return str(value)

    return read


def _questions(value: object, where: str) -> int | None:
    if value == "report":
        return None
    if value == "refuse":
        return 0
    match = re.fullmatch(r"at-most (\d{1,4})", value) if isinstance(value, str) else None
    if match is None:
        raise ConfigError(f"{value!r} is not one of report, refuse, at-most N", "Write it as: at-most 2", where)
    return int(match[1])


def _capabilities(value: object, where: str) -> tuple[str, ...]:
    names = _names(value, where)
    for name in names:
        _among(name, CAPABILITIES, "capability", where)
    return names


def _checks(value: object, where: str) -> tuple[str, ...]:
    names = _names(value, where)
    for name in names:
        _among(name, known_checks(), "check", where)
    return names


def _among(name: str, known: tuple[str, ...], what: str, where: str) -> None:
    if name not in known:
        raise ConfigError(f"no {what} {name!r}{_meant(name, known)}", f"There are: {', '.join(known)}.", where)


def _names(value: object, where: str) -> tuple[str, ...]:
    return tuple(_text(item, f"{where}[{n}]") for n, item in enumerate(_sequence(value, where)))


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"expected text, found {value!r}", where=where)
    return value


def _fraction(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ConfigError(f"{value!r} is not a number between 0 and 1", where=where)
    return float(value)


def _count(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(f"{value!r} is not a count of at least 1", where=where)
    return value


def _sequence(value: object, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise ConfigError(f"expected a list, found {type(value).__name__}", where=where)
    return value


def _mapping(value: object, where: str) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"expected keys and values, found {type(value).__name__}", where=where)
    return value


def _known(rows: Mapping[Any, Any], allowed: tuple[str, ...], where: str) -> None:
    for key in rows:
        if key not in allowed:
            raise ConfigError(f"unknown key {key!r}{_meant(str(key), allowed)}", f"Known keys: {', '.join(allowed)}.", where)


def _meant(name: str, allowed: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(name, allowed, n=1)
    return f" (did you mean {close[0]}?)" if close else ""
