"""What a verdict depends on besides the files: the judge's code, its tools, the engine. Cheap to ask, for the cache's sake."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import metadata
from pathlib import Path

TOOLS = ("skill-assay", "libcst", "ruff", "mypy", "hypothesis")


@cache
def judge_code() -> int:
    """A number for the judge's own code: another byte of it, another verdict cache. Cheaper than importing it."""
    import sandbox
    import verifiers

    digest = hashlib.sha256()
    for package in (sandbox, verifiers):
        for top in package.__path__:
            for path in sorted(Path(top).rglob("*.py")):
                digest.update(path.read_bytes())
    return int.from_bytes(digest.digest()[:6], "big")


@cache
def tools() -> dict[str, str]:
    """Versions of what the static checks and the generators of cases are made with."""
    found = {}
    for name in TOOLS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = ""
    return found


@cache
def engine_facts(host: str | None, image: str | None, packages: tuple[str, ...] = ()) -> tuple[str, str] | None:
    """The image's inventory and what the engine is, without starting a container; None where there is none."""
    from sandbox.status import engine_status

    status = engine_status(host, probe=False, image=image, packages=packages)
    if status.missing or not status.inventory:
        return None
    return f"{status.image} {status.inventory}", f"{status.engine} {status.runc} {status.kernel}"
