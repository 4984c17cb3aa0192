"""What a registry refuses, and why; each error says what to do."""

from __future__ import annotations

from typing import ClassVar

from verifiers.interface import AssayError


class RegistryError(AssayError):
    """Anything that the registry refuses."""


class RegistryUnusable(RegistryError, OSError):
    """The registry's directory or database cannot be read or written. Nothing was changed."""

    exit_code: ClassVar[int] = 3


class UnknownSkill(RegistryError, LookupError):
    """No skill, or no version of it, by that name."""

    exit_code: ClassVar[int] = 4


class NotAccepted(RegistryError, ValueError):
    """The report does not let the draft in: not a full PASS, or not a report about these very bytes."""

    exit_code: ClassVar[int] = 1


class Revoked(NotAccepted):
    """These bytes were revoked: they cannot come back."""


class ApprovalRequired(RegistryError, PermissionError):
    """The policy asks for a person's approval of exactly this version first."""

    exit_code: ClassVar[int] = 3


class WrongState(RegistryError, ValueError):
    """A version in this status cannot do that."""
