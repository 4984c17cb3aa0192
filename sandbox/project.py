"""One image a project: the sandbox image with the project's own tools on top, by the digest of what they are asked for in.

What is asked for is fetched here, by this machine's own pip or npm as they are set up, and put into the image without a network.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from sandbox.daemon import Say
from sandbox.image import (
    LABEL_FORM,
    LABEL_INVENTORY,
    LABEL_PROJECT,
    LABEL_RECIPE,
    ImageStore,
    build_lock,
    ensure_in,
    remember_inventory,
    scratch_file,
    take_inventory,
)
from sandbox.interface import Cause, SandboxError
from sandbox.recipe import REPOSITORY, Recipe, dockerfile, load_recipe

Kind = Literal["requirements", "package-json", "dockerfile"]
OURS = "assay-sandbox"
"""What a Dockerfile's FROM says for the sandbox image."""
MOST_BYTES = 64 << 20
"""Of the directory of a Dockerfile that copies from it."""
FETCH_S = 900.0
LEFT_OUT = frozenset({".git", "node_modules", ".venv", "__pycache__", ".tox", ".nox"})
_WHERE = "import sys, os; print(*sys.version_info[:2], os.uname().machine, os.confstr('CS_GNU_LIBC_VERSION'))"
_FROM = re.compile(r"(?im)^([ \t]*FROM[ \t]+(?:--\S+[ \t]+)*)(\S+)")
_COPIES = re.compile(r"(?im)^[ \t]*(?:COPY|ADD)[ \t]")


@dataclass(frozen=True, slots=True)
class Tools:
    """What a project asks for."""

    kind: Kind
    files: Mapping[str, bytes]
    """Relative path -> content: of a Dockerfile the directory that it copies from; first the file itself."""
    packages: tuple[str, ...] = ()
    """Debian packages that it needs besides."""
    programs: frozenset[str] = frozenset()
    """Of ``files``, those that can be executed."""
    left_out: tuple[str, ...] = ()
    """What is asked for and is no part of the image."""


def read_requirements(file: Path) -> Tools:
    """The Python packages of a requirements file.

    Raises:
        ValueError: a line that names no package of an index.
    """
    data = file.read_bytes()
    joined = data.decode("utf-8", "replace").replace("\\\n", " ")
    for number, line in enumerate(joined.splitlines(), 1):
        said = line.split(" #")[0].strip()
        if said.startswith("#") or not said:
            continue
        if said.startswith("-") or re.match(r"[./~]|\w+\+|\w+://", said) or " @ " in said:
            raise ValueError(f"line {number} ({said[:60]!r}) is no package of an index, which is all that an image is made from")
    return Tools("requirements", {"requirements.txt": data})


def read_package_json(file: Path) -> Tools:
    """The npm packages of a ``package.json``, as its lock has them where there is one beside it.

    Raises:
        ValueError: it is no JSON object.
    """
    files = {"package.json": file.read_bytes()}
    if not isinstance(json.loads(files["package.json"]), dict):
        raise ValueError("is no JSON object")
    lock = file.with_name("package-lock.json")
    if lock.is_file():
        files["package-lock.json"] = lock.read_bytes()
    return Tools("package-json", files, ("nodejs",))


def read_dockerfile(file: Path, context: Path | None = None) -> Tools:
    """A Dockerfile, with the directory that it copies from: its own, unless another is named.

    Raises:
        ValueError: it has no FROM, or the directory is too large.
    """
    data = file.read_bytes()
    text = data.decode("utf-8", "replace")
    if not _FROM.search(text):
        raise ValueError(f"has no FROM: begin it with FROM {OURS}")
    files, programs = below(context or file.parent) if _COPIES.search(text) else ({}, frozenset())
    return Tools("dockerfile", {"Dockerfile": data, **{p: d for p, d in files.items() if p != "Dockerfile"}}, programs=programs)


def below(directory: Path) -> tuple[dict[str, bytes], frozenset[str]]:
    """The files of a directory, and which of them can be executed.

    Raises:
        ValueError: they are too large.
    """
    files: dict[str, bytes] = {}
    programs, size = set(), 0
    for path in _below(directory):
        info, name = path.stat(), path.relative_to(directory).as_posix()
        size += info.st_size
        if size > MOST_BYTES:
            raise ValueError(f"its directory holds more than {MOST_BYTES >> 20} MiB: put it into a directory with what it copies")
        files[name] = path.read_bytes()
        programs |= {name} if info.st_mode & 0o100 else set()
    return files, frozenset(programs)


def _below(directory: Path) -> Iterator[Path]:
    for here, names, files in os.walk(directory):
        names[:] = sorted(set(names) - LEFT_OUT)
        yield from (path for name in sorted(files) if (path := Path(here) / name).is_file())


def ensure_project(
    say: Say, tools: Sequence[Tools], more: Sequence[str] = (), rebuild: bool = False, *, host: str | None = None
) -> str:
    """The tag of the image with these tools, built first where the engine does not have it.

    Raises:
        SandboxError: it cannot be built; the message has the last lines of whoever could not.
        ValueError: a package name that is none.
    """
    from sandbox.image_store import open_images

    with open_images(host) as store:
        return ensure_project_in(store, load_recipe(more=(*more, *(p for t in tools for p in t.packages))), tools, say, rebuild)


def ensure_project_in(store: ImageStore, recipe: Recipe, tools: Sequence[Tools], say: Say, rebuild: bool = False) -> str:
    """As ``ensure_project``, in a given store."""
    base = ensure_in(store, recipe, say)
    digest = digest_of(base, tools)
    tag = f"{REPOSITORY}:{digest[:24]}"
    if not rebuild and store.image_labels(tag) is not None:
        return tag
    wip = f"{REPOSITORY}:wip-{digest[:12]}-{os.getpid()}"
    made: list[str] = []
    with build_lock(recipe, say):
        try:
            at = base
            for number, one in enumerate(tools):
                say(f"adding what is asked for in {next(iter(one.files))}")
                made.append(f"{wip}-{number}")
                _add(store, recipe, one, at, made[-1], say)
                at = made[-1]
            say("taking the inventory")
            labels = {LABEL_RECIPE: digest, LABEL_PROJECT: load_recipe().tag, LABEL_FORM: "project"}
            labels[LABEL_INVENTORY] = take_inventory(store, at, recipe, whole=True)
            store.label(at, labels, tag)
            remember_inventory(store.image_id(tag), labels[LABEL_INVENTORY])
        finally:
            for ref in made:
                store.untag(ref)
    say(f"the project's image is ready: {tag}")
    return tag


def digest_of(base: str, tools: Sequence[Tools]) -> str:
    """Of all that decides what is asked for: the image below, and the files."""
    asked = [
        [t.kind, {name: hashlib.sha256(data).hexdigest() for name, data in t.files.items()}, sorted(t.programs)] for t in tools
    ]  # fmt: skip
    return hashlib.sha256(json.dumps([base, asked], sort_keys=True).encode()).hexdigest()


def _add(store: ImageStore, recipe: Recipe, tools: Tools, base: str, ref: str, say: Say) -> None:
    with tempfile.TemporaryDirectory(prefix="assay-project-") as folder:
        place = Path(folder)
        for name, data in tools.files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(data)
            (place / name).chmod(0o755 if name in tools.programs else 0o644)
        if tools.kind == "requirements":
            _fetch_wheels(store, base, place, say)
            _build(store, _python(base), place, ref, say, "none")
        elif tools.kind == "package-json":
            _fetch_modules(place, say)
            _build(store, _node(base), place, ref, say, "none")
        else:
            _from_dockerfile(store, recipe, tools, base, place, ref, say)


# ---------------------------------------------------------------- Python


def _python(base: str) -> str:
    install = "install --no-index --find-links wheels --no-cache-dir --break-system-packages --root-user-action ignore"
    return (
        f"FROM {base}\nCOPY . /assay-project/\nWORKDIR /assay-project\n"
        f'RUN python3 "$(echo wheels/pip-*.whl)/pip" {install} -r requirements.txt && rm -rf /assay-project\nWORKDIR /\n'
    )


def _fetch_wheels(store: ImageStore, base: str, place: Path, say: Say) -> None:
    """Gets wheels for the image's own interpreter, whatever runs here."""
    found = store.run_script(base, f'python3 -I -c "{_WHERE}"').decode().split()
    major, minor, machine, glibc = found[0], found[1], found[2], found[-1]
    say(f"fetching packages for Python {major}.{minor} with this machine's pip")
    libraries = [f"manylinux_2_{n}_{machine}" for n in range(int(glibc.split(".")[1]), 4, -1)]
    platforms = [*libraries, f"manylinux2014_{machine}", f"manylinux2010_{machine}", f"manylinux1_{machine}", f"linux_{machine}"]
    fitting = ["--only-binary=:all:", f"--python-version={major}.{minor}", "--implementation=cp", f"--abi=cp{major}{minor}"]
    fitting += ["--abi=abi3", "--abi=none", *(f"--platform={name}" for name in platforms)]
    for what in (["pip"], ["-r", "requirements.txt"]):
        _run([*_pip(), "download", "--quiet", "--dest", "wheels", *fitting, *what], place)


def _pip() -> list[str]:
    asked = subprocess.run([sys.executable, "-m", "pip", "--version"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if asked.returncode == 0:
        return [sys.executable, "-m", "pip"]
    found = shutil.which("pip3") or shutil.which("pip")
    if found is None:
        raise SandboxError(Cause.IMAGE_MISSING, "there is no pip on this machine to fetch packages with", "Install pip")
    return [found]


# ---------------------------------------------------------------- Node


def _node(base: str) -> str:
    """Modules are looked for in every directory above a file's: those in the root are there for all."""
    links = 'for program in /node_modules/.bin/*; do [ ! -e "$program" ] || ln -sf "$program" /usr/local/bin/; done'
    return f"FROM {base}\nCOPY node_modules /node_modules\nRUN {links}\n"


def _fetch_modules(place: Path, say: Say) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise SandboxError(Cause.IMAGE_MISSING, "there is no npm on this machine to fetch packages with", "Install npm")
    say("fetching packages with this machine's npm")
    verb = "ci" if (place / "package-lock.json").is_file() else "install"
    _run([npm, verb, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], place)
    (place / "node_modules").mkdir(exist_ok=True)


# ---------------------------------------------------------------- Dockerfile


def _from_dockerfile(store: ImageStore, recipe: Recipe, tools: Tools, base: str, place: Path, ref: str, say: Say) -> None:
    """Builds it with the network of this machine. On a base of its own, what runs need is put on top by the base's apt-get."""
    asked = tools.files["Dockerfile"].decode("utf-8", "replace")
    last = [m[2] for m in _FROM.finditer(asked)][-1]
    text = _FROM.sub(lambda m: m[1] + (base if m[2] == OURS else m[2]), asked)
    if last == OURS or last in _stages(asked):
        _build(store, f"{text}\nUSER root\nENTRYPOINT []\n", place, ref, say, "host")
        return
    theirs = f"{ref}-theirs"
    try:
        _build(store, f"{text}\nUSER root\n", place, theirs, say, "host")
        with tempfile.TemporaryDirectory(prefix="assay-project-") as folder:
            script = Path(folder) / "files" / "assay-setup.sh"
            script.parent.mkdir()
            script.write_text(recipe.text("setup.sh"), encoding="utf-8")
            _build(store, dockerfile(replace(recipe, base=theirs)), Path(folder), ref, say, "host")
    finally:
        store.untag(theirs)


def _stages(text: str) -> set[str]:
    """Names of earlier stages that begin with the sandbox image."""
    return {m[1] for m in re.finditer(rf"(?im)^[ \t]*FROM[ \t]+{OURS}[ \t]+AS[ \t]+(\S+)", text)}


# ---------------------------------------------------------------- both


def _build(store: ImageStore, text: str, place: Path, ref: str, say: Say, network: str) -> None:
    with scratch_file() as context:
        with tarfile.open(context, "w") as tar:
            info = tarfile.TarInfo("Dockerfile")
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
            for path in sorted(place.iterdir()):
                if path.name != "Dockerfile":
                    tar.add(path, path.name, filter=_of_nobody)
        store.build(context, ref, say, network)


def _of_nobody(info: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without the builder's name and times."""
    info.uid = info.gid = info.mtime = 0
    info.uname = info.gname = ""
    return info


def _run(command: list[str], place: Path) -> None:
    try:
        done = subprocess.run(
            command, cwd=place, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
            timeout=FETCH_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired as e:
        raise SandboxError(Cause.DEADLINE, f"{Path(command[0]).name} took more than {FETCH_S:.0f} s") from e
    if done.returncode:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in said if "error" in line.lower()] or said[-3:]
        what = f"the packages cannot be fetched: {' | '.join(errors[:3])[:500]}"
        raise SandboxError(Cause.IMAGE_MISSING, what, "Only built packages are taken; build others in a Dockerfile")
