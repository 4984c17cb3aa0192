"""The registry: the skills that passed, each version bound to the bytes and the report that it passed with."""

from synth.registry.errors import (
    ApprovalRequired,
    NotAccepted,
    RegistryError,
    RegistryUnusable,
    Revoked,
    UnknownSkill,
    WrongState,
)
from synth.registry.store import Registry

__all__ = [
    "ApprovalRequired",
    "NotAccepted",
    "Registry",
    "RegistryError",
    "RegistryUnusable",
    "Revoked",
    "UnknownSkill",
    "WrongState",
]
