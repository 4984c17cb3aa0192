"""Fetches Nushell's binary with the npm client, where there is one. The image is built without it where there is none."""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import subprocess
import tarfile
import tempfile
from pathlib import Path

import platformdirs

from sandbox.daemon import Say
from sandbox.install import which
from sandbox.recipe import NuSource

TIMEOUT_S = 300.0


def cached(source: NuSource, cache: Path | None = None) -> Path:
    """Where the binary of this version is kept."""
    root = platformdirs.user_cache_path("assay") if cache is None else cache
    return root / "nu" / f"{source.version}-{platform.machine()}" / "nu"


def fetch_nu(source: NuSource, say: Say, cache: Path | None = None) -> Path | None:
    """The path of Nushell's binary, fetched once; None (after a sentence why) where it cannot be had."""
    target = cached(source, cache)
    if target.is_file():
        return target
    npm = which("npm")
    if npm is None:
        say("npm is not installed, so the image is built without Nushell (skills that use nu.run will not run in it)")
        return None
    spec = f"{source.package}@{source.version}"
    say(f"fetching {spec} with npm")
    with tempfile.TemporaryDirectory(prefix="assay-nu-") as scratch:
        try:
            tarball = _pack(npm, spec, Path(scratch))
            binary = _unpack(tarball, source.integrity)
        except (OSError, ValueError, tarfile.TarError, subprocess.TimeoutExpired) as error:
            say(f"Nushell cannot be fetched, so the image is built without it: {error}")
            return None
    _place(binary, target)
    return target


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


def _unpack(tarball: Path, integrity: str) -> bytes:
    """The ``nu`` program in a tarball. Raises ValueError where the digest differs or there is none."""
    if integrity:
        found = "sha512-" + base64.b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode()
        if found != integrity:
            raise ValueError(f"the package's digest is {found}, the recipe says {integrity}")
    with tarfile.open(tarball) as tar:
        for member in tar:
            if member.isfile() and Path(member.name).name == "nu" and (stream := tar.extractfile(member)) is not None:
                return stream.read()
    raise ValueError("the package holds no program called nu")


def _place(binary: bytes, target: Path) -> None:
    """Puts the program in place atomically: another process may be reading the same path."""
    target.parent.mkdir(parents=True, exist_ok=True)
    fd, scratch = tempfile.mkstemp(dir=target.parent)
    with os.fdopen(fd, "wb") as stream:
        stream.write(binary)
    Path(scratch).chmod(0o755)
    Path(scratch).replace(target)
