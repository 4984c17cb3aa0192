"""The image from the distribution's own packages: mmdebstrap writes a root file system as a tar, the engine imports it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sandbox.daemon import Say, read_lines
from sandbox.install import read_os_release, which
from sandbox.interface import Cause, SandboxError
from sandbox.recipe import Recipe

ROOM_BYTES = 1_500_000_000
"""What a build needs of temporary disk space, with some to spare (tar of 300 to 400 MB, packages, unpacked tree)."""

_ONE_LINE = re.compile(r"deb\s+(?:\[[^\]]*\]\s+)?\S+\s+(?P<suite>\S+)\s+(?P<components>.+)")
_CARRIED = re.compile(r'(Acquire::(?:(?:http|https|ftp)::.*|Check-Valid-Until|Check-Date|Retries)) "(.+)";')


def build_root(recipe: Recipe, nu: Path | None, target: Path, say: Say) -> None:
    """Writes the image's root file system to ``target`` as a tar.

    Raises:
        SandboxError: no mmdebstrap, too little disk, or mmdebstrap failed; its last lines are in the message.
    """
    free = shutil.disk_usage(target.parent).free
    if free < ROOM_BYTES:
        what = f"{target.parent} has {free >> 20} MB free; building the image needs about {ROOM_BYTES >> 20} MB"
        raise SandboxError(Cause.DISK, what, "Free some, or point TMPDIR at a larger disk")
    with tempfile.TemporaryDirectory(prefix="assay-image-") as text:
        scratch = Path(text)
        argv, env = find_mmdebstrap(scratch, say)
        command = [*argv, *options(recipe, nu, scratch), codename(), str(target), *mirrors(scratch)]
        run_mmdebstrap(command, env, say)


def find_mmdebstrap(scratch: Path, say: Say) -> tuple[list[str], dict[str, str]]:
    """The command that runs mmdebstrap and its environment. Fetched with apt-get and unpacked aside where it is not installed.

    Raises:
        SandboxError: there is none and none can be fetched.
    """
    installed = which("mmdebstrap")
    if installed is not None:
        return [installed], dict(os.environ)
    apt_get, unpack = which("apt-get"), which("dpkg-deb")
    if apt_get is not None and unpack is not None and which("perl") is not None:
        say("mmdebstrap is not installed; unpacking it into a temporary directory")
        for arguments in (["download", "mmdebstrap"], ["update"], ["download", "mmdebstrap"]):
            if not list(scratch.glob("mmdebstrap_*.deb")):  # the package lists of a new machine are empty
                subprocess.run([apt_get, "-q", *arguments], cwd=scratch, stdin=subprocess.DEVNULL, stdout=2, check=False)
        for package in scratch.glob("mmdebstrap_*.deb"):
            subprocess.run([unpack, "-x", str(package), str(scratch / "tool")], check=True)
            return ["perl", str(scratch / "tool/usr/bin/mmdebstrap")], dict(os.environ)
    what = "the base image cannot be pulled, and mmdebstrap, which would build one from packages, is not installed"
    raise SandboxError(Cause.IMAGE_MISSING, what, "As root on Debian or Ubuntu, run: apt-get install mmdebstrap")


def options(recipe: Recipe, nu: Path | None, scratch: Path) -> Iterator[str]:
    """mmdebstrap's options for a recipe. Files that hooks upload are written to ``scratch``."""
    setup = scratch / "setup.sh"
    setup.write_text(recipe.text("setup.sh"))
    settings = " ".join(f"{key}='{value}'" for key, value in recipe.settings.items())
    yield from ("--variant=minbase", "--format=tar", f"--include={','.join(recipe.packages)}")
    yield from ("--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/info/*")
    yield from (f'--aptopt={key} "{value}"' for key, value in carried_settings())
    if nu is not None:
        # `upload` splits at blanks and knows no quotes: the path must hold none.
        (scratch / "nu").symlink_to(nu)
        yield f"--customize-hook=upload {scratch}/nu /usr/local/bin/nu"
        yield '--customize-hook=chmod 755 "$1/usr/local/bin/nu"'
    yield f"--customize-hook=upload {setup} /assay-setup.sh"
    yield f'--customize-hook=chroot "$1" env {settings} sh /assay-setup.sh && rm "$1/assay-setup.sh"'


def carried_settings() -> list[tuple[str, str]]:
    """This machine's settings for reaching its package archive (proxy, retries, dates), which mmdebstrap would not read."""
    tool = which("apt-config")
    if tool is None:
        return []
    dump = subprocess.run([tool, "dump"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout
    return [(m[1], m[2]) for line in dump.splitlines() if (m := _CARRIED.fullmatch(line))]


def codename() -> str:
    """The release to build: this machine's own, so that the packages match what it can reach."""
    release = read_os_release(Path("/etc/os-release"))
    return release.get("VERSION_CODENAME", "") or "stable"


def mirrors(scratch: Path, apt: Path = Path("/etc/apt"), suite: str | None = None) -> list[str]:
    """mmdebstrap's mirror arguments: files with this machine's own archive entries; none where there are none to copy."""
    suite = codename() if suite is None else suite
    out: list[str] = []
    listed = [line for path in [apt / "sources.list", *sorted(apt.glob("sources.list.d/*.list"))] for line in read_lines(path)]
    lines = [line.strip() for line in listed if _is_ours(_ONE_LINE.fullmatch(line.strip()), suite)]
    if lines:
        out.append(str(scratch / "host.list"))
        Path(out[-1]).write_text("\n".join(lines) + "\n")
    texts = ["\n".join(read_lines(path)) for path in sorted(apt.glob("sources.list.d/*.sources"))]
    stanzas = [part for text in texts for part in re.split(r"\n[ \t]*\n", text) if stanza_is_ours(part, suite)]
    if stanzas:
        out.append(str(scratch / "host.sources"))
        Path(out[-1]).write_text("\n\n".join(stanzas) + "\n")
    return out


def _is_ours(match: re.Match[str] | None, suite: str) -> bool:
    return match is not None and match["suite"] in suites(suite) and "main" in match["components"].split()


def suites(name: str) -> set[str]:
    """The parts of a distribution's own archive, by their names; archives of others are not copied."""
    return {name, f"{name}-updates", f"{name}-security", f"{name}/updates"}


def stanza_is_ours(stanza: str, suite: str) -> bool:
    """Whether a deb822 stanza names the distribution's own binary packages and is enabled."""
    fields: dict[str, str] = {}
    for line in stanza.splitlines():
        key, colon, value = line.partition(":")
        if colon and not line.startswith(("#", " ", "\t")):
            fields[key.strip().lower()] = value.strip()
    named = fields.get("suites", "").split()
    return (
        "deb" in fields.get("types", "").split()
        and fields.get("enabled", "yes").lower() not in ("no", "false", "0")
        and "main" in fields.get("components", "").split()
        and bool(named)
        and set(named) <= suites(suite)
    )


def run_mmdebstrap(command: list[str], env: dict[str, str], say: Say) -> None:
    """Runs mmdebstrap to its end, passing its progress on.

    Raises:
        SandboxError: it failed (DISK where it ran out of space), with its last lines.
    """
    tail: list[str] = []
    with subprocess.Popen(
        command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as run:
        for line in run.stdout or ():
            tail = [*tail[-39:], line.rstrip()]
            if line.startswith("I: ") and line.rstrip().endswith(("...", "done")) and "tempdir" not in line:
                say(f"mmdebstrap: {line[3:].rstrip()}")
    if run.returncode == 0:
        return
    errors = [line for line in tail if line.startswith("E: ")] or tail[-3:]
    what = f"mmdebstrap failed with exit code {run.returncode}: {' | '.join(errors[:3])}"
    if any("No space left on device" in line for line in tail):
        raise SandboxError(Cause.DISK, what, "Free disk space, or point TMPDIR at a larger disk")
    raise SandboxError(Cause.IMAGE_MISSING, what, "Is the package archive reachable? apt-get update tells")
