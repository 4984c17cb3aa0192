"""The prompt files: versioned with the package, named in every report by one digest."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources

NAMES = ("system", "group", "propose", "earlier", "repair", "evolve", "malformed", "truncated", "refused_modules")


@cache
def prompt(name: str) -> str:
    """The text of one prompt file of the package."""
    return (resources.files("synth") / "prompts" / f"{name}.md").read_text(encoding="utf-8")


@cache
def prompts_sha256() -> str:
    """SHA-256 (hex) over all prompt files, in a fixed order."""
    digest = hashlib.sha256()
    for name in NAMES:
        digest.update(f"{name}\0{prompt(name)}\0".encode())
    return digest.hexdigest()


def fill(name: str, **values: str) -> str:
    """A prompt with its ``{placeholders}`` replaced. Values are put in as they are: braces in them mean nothing."""
    text = prompt(name)
    for key, value in values.items():
        text = text.replace("{" + key + "}", value)
    return text
