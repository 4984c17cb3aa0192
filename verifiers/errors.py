"""What is raised where a tool is broken or was asked for what is not there. Others import it from ``verifiers.interface``."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar


class AssayError(Exception):
    """Something the user can act on. Each subclass is also the builtin that it resembles."""

    exit_code: ClassVar[int] = 2

    def __init__(self, what: str, advice: str = "", where: str | Path | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.advice = advice
        self.where = str(where) if where is not None else ""

    def diagnostics(self) -> str:
        """Where, what, and what to do, on one line."""
        head = f"{self.where}: {self.what}" if self.where else self.what
        return f"{head}. {self.advice}" if self.advice else head


class EvidenceError(AssayError, ValueError):
    """An evidence or trace file that cannot be read as such."""


class BindingError(AssayError, ValueError):
    """A bindings file that cannot be read as such."""


class SkillFileError(AssayError, OSError):
    """A skill file that cannot be read at all (missing, a directory, not text)."""


class ConfigError(AssayError, ValueError):
    """Wrong configuration or policy."""


class NothingToVerify(AssayError, LookupError):
    exit_code: ClassVar[int] = 4


class Inconclusive(AssayError, RuntimeError):
    """A required part is missing: no evidence, no engine."""

    exit_code: ClassVar[int] = 3
