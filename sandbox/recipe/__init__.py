"""What the sandbox image holds, as data: the recipe, its digest, and the files that both forms are made from."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import re
import string
import tarfile
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path

REPOSITORY = "assay-sandbox"

_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+(:[a-z0-9]+)?")
"""Debian Policy 5.6.7, with an optional architecture."""


@dataclass(frozen=True, slots=True)
class NuSource:
    """Where Nushell's binary comes from: one package of the npm registry."""

    package: str
    version: str
    integrity: str
    """``sha512-…`` of the tarball. Without one nothing is fetched."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that decides what is in the image."""

    base: str
    packages: tuple[str, ...]
    locales: tuple[str, ...]
    user: str
    uid: int
    home: str
    directories: tuple[str, ...]
    architecture: str
    nu: NuSource | None
    files: tuple[tuple[str, str], ...]
    """Name and text of the templates and scripts that both forms use."""

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the recipe's canonical JSON."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    @property
    def tag(self) -> str:
        return f"{REPOSITORY}:{self.digest[:24]}"

    @property
    def settings(self) -> dict[str, str]:
        """The environment that ``setup.sh`` reads."""
        return {
            "NAME": self.user,
            "UID_": str(self.uid),
            "HOME_": self.home,
            "DIRS": " ".join(self.directories),
            "LOCALES": " ".join(self.locales),
        }

    def text(self, name: str) -> str:
        return dict(self.files)[name]

    def without_nu(self) -> Recipe:
        return replace(self, nu=None)


def load_recipe(packages: Sequence[str] | None = None, architecture: str | None = None, more: Sequence[str] = ()) -> Recipe:
    """The recipe that ships with this package.

    Args:
        packages: instead of the recipe's own list. Order and repetition do not matter.
        architecture: as ``uname -m`` says it; None = this machine's.
        more: packages besides that list.

    Raises:
        ValueError: a name that is no Debian package name (it would become an option or a second word of a command).
    """
    data = tomllib.loads(_read("recipe.toml"))
    names = sorted({*(data["packages"] if packages is None else packages), *more})
    for name in names:
        if not _PACKAGE.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of a Debian package")
    arch = platform.machine() if architecture is None else architecture
    source = data["nu"].get(arch)
    version = data["nu"]["version"]
    return Recipe(
        base=data["base"],
        packages=tuple(names),
        locales=tuple(data["locales"]),
        user=data["user"]["name"],
        uid=data["user"]["uid"],
        home=data["directories"]["home"],
        directories=tuple(data["directories"]["root"]),
        architecture=arch,
        nu=None if source is None else NuSource(source["package"], version, source["integrity"]),
        files=tuple((name, _read(name)) for name in ("Dockerfile.template", "setup.sh", "inventory.sh")),
    )


def _read(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")


def dockerfile(recipe: Recipe) -> str:
    """The Dockerfile form of a recipe."""
    settings = " ".join(f"{key}='{value}'" for key, value in recipe.settings.items())
    values = {"base": recipe.base, "packages": " ".join(recipe.packages), "settings": settings}
    return string.Template(recipe.text("Dockerfile.template")).substitute(values)


def build_context(recipe: Recipe, nu: Path | None, target: io.BufferedRandom) -> None:
    """Writes the tar that the engine builds the Dockerfile form from, without times or owners, and rewinds it."""
    with tarfile.open(fileobj=target, mode="w") as tar:
        _add(tar, "Dockerfile", dockerfile(recipe).encode(), 0o644)
        _add(tar, "files/assay-setup.sh", recipe.text("setup.sh").encode(), 0o755)
        if nu is not None:
            _add(tar, "files/usr/local/bin/nu", nu.read_bytes(), 0o755)
    target.seek(0)


def _add(tar: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), mode
    tar.addfile(info, io.BytesIO(content))
