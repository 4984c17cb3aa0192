"""Fetches Nushell's binary with the npm client, where there is one. The image is built without it where there is none."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import platform
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import platformdirs

from sandbox.daemon import Say
from sandbox.install import which
from sandbox.recipe import NuSource

TIMEOUT_S = 300.0


def cached(source: NuSource, cache: Path | None = None) -> Path:
    """Where the package of this version is kept, as it was fetched: so its digest can be looked at again."""
    root = platformdirs.user_cache_path("assay") if cache is None else cache
    return root / "nu" / f"{source.version}-{platform.machine()}" / "package.tgz"


@contextlib.contextmanager
def fetched_nu(source: NuSource, say: Say, cache: Path | None = None) -> Iterator[Path | None]:
    """The path of Nushell's binary, for the length of the block; None (after a sentence why) where it cannot be had.

    The package is fetched once, and its digest looked at every time.
    """
    with tempfile.TemporaryDirectory(prefix="assay-nu-") as scratch:
        try:
            binary = _unpack(_package(source, say, cached(source, cache), Path(scratch)), source.integrity)
        except (OSError, ValueError, tarfile.TarError, subprocess.TimeoutExpired) as error:
            say(f"Nushell cannot be fetched, so the image is built without it: {error}")
            yield None
            return
        program = Path(scratch) / "nu"
        program.write_bytes(binary)
        program.chmod(0o755)
        yield program


def _package(source: NuSource, say: Say, kept: Path, scratch: Path) -> Path:
    """The package, out of the cache where that has the one which the recipe means. Raises OSError, ValueError, TimeoutExpired."""
    if kept.is_file() and integrity(kept) == source.integrity:
        return kept
    npm = which("npm")
    if npm is None:
        raise ValueError("npm is not installed (skills that use nu.run will not run in it)")
    spec = f"{source.package}@{source.version}"
    say(f"fetching {spec} with npm")
    fresh = _pack(npm, spec, scratch)
    _check(fresh, source.integrity)
    _place(fresh.read_bytes(), kept)
    return fresh


def integrity(path: Path) -> str:
    """The digest of a file as the npm registry writes it."""
    return "sha512-" + base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()


def _check(tarball: Path, wanted: str) -> None:
    if (found := integrity(tarball)) != wanted:
        raise ValueError(f"the package's digest is {found}, the recipe says {wanted or 'nothing'}")


def _pack(npm: str, spec: str, scratch: Path) -> Path:
    """The tarball of an npm package. Raises ValueError with npm's last line where npm fails."""
    argv = [npm, "pack", spec, "--silent", "--ignore-scripts", "--fetch-retries=1", f"--pack-destination={scratch}"]
    done = subprocess.run(
        argv, cwd=scratch, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    found = sorted(scratch.glob("*.tgz"))
    if done.returncode != 0 or not found:
        words = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise ValueError(f"npm pack exited with {done.returncode}: {words[0]}")
    return found[0]


def _unpack(tarball: Path, wanted: str) -> bytes:
    """The ``nu`` program in a tarball. Raises ValueError where the digest differs or there is none."""
    _check(tarball, wanted)
    with tarfile.open(tarball) as tar:
        for member in tar:
            if member.isfile() and Path(member.name).name == "nu" and (stream := tar.extractfile(member)) is not None:
                return stream.read()
    raise ValueError("the package holds no program called nu")


def _place(content: bytes, target: Path) -> None:
    """Puts the package in place atomically: another process may be reading the same path."""
    target.parent.mkdir(parents=True, exist_ok=True)
    fd, scratch = tempfile.mkstemp(dir=target.parent)
    with os.fdopen(fd, "wb") as stream:
        stream.write(content)
    Path(scratch).replace(target)
