"""Finding skills, and the evidence and bindings that belong to them (docs/design.md, "Drafts and where files are found")."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from verifiers.decisions import places
from verifiers.interface import ConfigError, Inconclusive, NothingToVerify, SkillFileError
from verifiers.subject import MAX_BYTES, host_commands, read_regular

SKILL, EVIDENCE, BINDINGS = "skill.py", "evidence.jsonl", "bindings.json"
ATTACHED, SCRIPTS = "evidence", "scripts"
"""In an exported skill's directory: what it was judged on, and its code."""
REGISTRY, ACTIVE = "registry.db", "skills"
"""A registry's database, and its directory of links to the active versions."""
_NOT_SKILLS = frozenset({"skill_api.py"})
_SKIPPED = frozenset({"__pycache__", "node_modules", "venv", "site-packages", "build", "dist"})
_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "safe.bareRepository=explicit")
"""Runs no program that the judged tree names."""
_DECORATOR = re.compile(rb"^\s*@(?:[\w.]+\.)?skill_command\b|\bskill_command\s+as\s+\w", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Target:
    """One skill file with what belongs to it."""

    name: str
    """The draft directory's name, or the file's stem."""
    path: str
    """As reports show it: relative to the working directory where it lies below it, with forward slashes."""
    skill: Path
    evidence: Path | None
    bindings: Path | None
    given: Path | None = None
    """Decisions that were named; None = those beside the evidence."""
    function: str = ""
    """Which one, where the file has several."""

    @property
    def decisions(self) -> Path | None:
        """Answers to questions about it, where there are any."""
        return self.given or places.found(self.skill, self.evidence)

    @property
    def file(self) -> str:
        """The path without the function."""
        return self.path.removesuffix(f"::{self.function}") if self.function else self.path

    @property
    def home(self) -> Path:
        """The directory that is the skill: of an exported one, that above its scripts."""
        return exported_root(self.skill) or self.skill.parent

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(f for f in (self.skill, self.evidence, self.bindings, self.decisions) if f is not None)


def exported_root(skill: Path) -> Path | None:
    """The directory of an exported skill, by a file of its ``scripts``; None for any other file."""
    root = skill.absolute().parent.parent
    return root if skill.parent.absolute().name == SCRIPTS and (root / ATTACHED / EVIDENCE).is_file() else None


def find(paths: Iterable[str | Path], *, root: Path | None = None) -> list[Target]:
    """Returns the skills at the given files, draft directories and trees, sorted by path, each once.

    Args:
        paths: each a skill file, ``FILE::function``, a directory with a ``skill.py``, or a directory that holds such things at
            any depth. A file of the host's own, in which every function is a skill, counts as all of them.
        root: what shown paths are relative to (default: the working directory).

    Raises:
        SkillFileError: a path does not exist or is neither a file nor a directory.
        NothingToVerify: there is no skill anywhere in them.
    """
    base = (root or Path.cwd()).resolve()
    names = [Path(p) for p in paths]
    found: dict[tuple[Path, str], Target] = {}
    for path in names:
        file, function = chosen(path)
        for skill in _skills(file):
            for wanted in [function] if function else _functions(skill):
                found.setdefault((skill.resolve(), wanted), _target(skill, base, wanted))
    if not found:
        where = ", ".join(str(n) for n in names) or "no path"
        advice = "A skill is a Python file with one @skill_command function; recordings become one with: assay crystallize DIR"
        raise NothingToVerify(f"no skill in {where}", advice)
    return sorted(found.values(), key=lambda t: t.path)


def chosen(path: Path) -> tuple[Path, str]:
    """``FILE::function`` as a file and a function; any other path as it is."""
    file, _, function = str(path).partition("::")
    return (Path(file), function) if function.isidentifier() and not path.exists() else (path, "")


def _functions(skill: Path) -> list[str]:
    """The functions of a file that are skills each; ``[""]`` for a file that is one skill."""
    data = read_regular(skill)
    if len(data) > MAX_BYTES or len(_DECORATOR.findall(data)) < 2:
        return [""]
    names = host_commands(data.decode("utf-8", "replace"))
    return names if len(names) > 1 else [""]


def owners(files: Iterable[str | Path], *, root: Path | None = None) -> list[Target]:
    """The skills that files belong to: skill files, and evidence, bindings and decisions beside one. Other files have none."""
    base = (root or Path.cwd()).resolve()
    there = [Path(f) for f in files]
    found: dict[Path, Target] = {}
    for folder in dict.fromkeys(f.parent for f in there):
        for file in sorted(folder.glob("*.py")):
            if file.is_file() and file.name not in _NOT_SKILLS and (file.name == SKILL or _is_skill(file)):
                found.setdefault(file.resolve(), _target(file, base))
    return only_changed(sorted(found.values(), key=lambda t: t.path), frozenset(f.resolve() for f in there))


def with_evidence(target: Target, registry: Callable[[str], Path | None] | None = None) -> Target:
    """The target with its evidence: beside the skill, else in the registry by name.

    Raises:
        Inconclusive: there is none; the sentence names ``assay record``.
    """
    if target.evidence is not None:
        return target
    known = registry(target.name) if registry is not None else None
    if known is not None and (known / EVIDENCE).is_file():
        bindings = target.bindings or _existing(known / BINDINGS)
        return replace(target, evidence=known / EVIDENCE, bindings=bindings)
    raise Inconclusive(
        f"no evidence for {target.name}: neither {EVIDENCE} nor {target.skill.stem}.{EVIDENCE} beside it",
        'Record some with `assay record --task "..." -- COMMAND`, or name a file with --evidence.',
        target.path,
    )


def changed_since(revision: str, directory: Path | None = None) -> frozenset[Path]:
    """Absolute paths of files that differ from a git revision, new and deleted ones included.

    In a repository without a commit every file differs from ``HEAD``.

    Raises:
        ConfigError: not a git work tree, no git, or no such revision.
    """
    here = directory or Path.cwd()
    if revision.startswith("-"):
        raise ConfigError(f"{revision!r} is not a git revision", "Give a commit, branch or tag to --since.")
    top = Path(_git(here, "rev-parse", "--show-toplevel").rstrip("\n"))
    if revision == "HEAD" and not _git(here, "rev-list", "--all", "--max-count=1"):
        revision = _git(here, "hash-object", "-t", "tree", os.devnull).strip()  # the empty tree
    else:
        _git(here, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    changed = _git(top, "diff", "--name-only", "-z", "--no-renames", revision, "--")
    new = _git(top, "ls-files", "--others", "--exclude-standard", "-z")
    return frozenset((top / name).resolve() for name in (changed + new).split("\0") if name)


def only_changed(targets: Sequence[Target], changed: frozenset[Path]) -> list[Target]:
    """The targets of which some file (its draft directory's, for a draft) is among the changed ones."""
    parents = {p.parent for p in changed}
    out = []
    for target in targets:
        home = target.skill.resolve().parent
        own = {f.resolve() for f in target.files} | {home / n for n in _beside(target.skill)}
        if own & changed or (target.skill.name == SKILL and home in parents):
            out.append(target)
    return out


def evidence_changed(target: Target, changed: frozenset[Path]) -> bool:
    """Whether evidence, bindings or decisions are among the changed files: those it has, and those it had or could have had."""
    has = {f.resolve() for f in target.files if f != target.skill}
    homes = {f.resolve().parent for f in (target.skill, target.evidence) if f is not None}
    return bool((has | {home / n for home in homes for n in _beside(target.skill)}) & changed)


def _skills(path: Path) -> Iterator[Path]:
    if path.is_file():
        if path.suffix != ".py":
            raise SkillFileError("is not a Python file", "Give a skill file, a draft directory or a tree of them.", path)
        yield path
    elif path.is_dir():
        yield from _in_tree(path)
    elif path.exists() or path.is_symlink():
        raise SkillFileError("is neither a file nor a directory", where=path)
    else:
        raise SkillFileError("does not exist", "Give a skill file, a draft directory or a tree of them.", path)


def _in_tree(top: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(top, onerror=_unreadable):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _SKIPPED)
        here = Path(folder)
        if REGISTRY in files:
            # Of a registry only what is active, by name: older, archived and revoked versions are kept, not in use.
            folders.clear()
            yield from (p / SKILL for p in sorted((here / ACTIVE).glob("*")) if (p / SKILL).is_file())
            continue
        # A link to a draft is one, as it is for whoever loads it; other links are not followed: they may lead anywhere.
        yield from (here / f / SKILL for f in folders if (here / f).is_symlink() and (here / f / SKILL).is_file())
        files = [f for f in sorted(files) if _belongs(here / f, top)]
        if SKILL in files:
            yield here / SKILL
        for name in files:
            # Beside a draft's skill.py too: whoever loads the directory may load every file of it.
            if name.endswith(".py") and name not in (SKILL, *_NOT_SKILLS) and _is_skill(here / name):
                yield here / name


def _belongs(file: Path, top: Path) -> bool:
    """Whether a Python file is of the tree: a regular one, or a link to one in the tree.

    Raises:
        SkillFileError: it is a link out of the tree, or a pipe or device: it may hold a skill, and must not be read.
    """
    if file.suffix != ".py":
        return True
    if file.is_symlink() and not file.resolve().is_relative_to(top.resolve()):
        raise SkillFileError("is a link that leads out of the judged tree", "Put the file itself there.", file)
    if not file.is_file():
        raise SkillFileError("is not a regular file", "A skill is one short Python file.", file)
    return True


def _unreadable(error: OSError) -> None:
    """What cannot be looked into may hold a skill: it is not passed over."""
    raise SkillFileError(f"cannot be read ({error.strerror or error})", "Check its permissions.", error.filename) from error


def _is_skill(file: Path) -> bool:
    data = read_regular(file)
    return len(data) > MAX_BYTES or _DECORATOR.search(data) is not None


def _target(skill: Path, base: Path, function: str = "") -> Target:
    root = exported_root(skill)
    home = root / ATTACHED if root is not None else skill.parent
    own_evidence, own_bindings = (home / n for n in _beside(skill, function)[:2])
    # Plain names beside a file that is not alone could be another skill's: NAME.evidence.jsonl comes first.
    evidence = _existing(own_evidence) or _existing(home / EVIDENCE)
    bindings = _existing(own_bindings) or _existing(home / BINDINGS)
    folder = root or (home if home.is_symlink() else skill.resolve().parent)
    name = folder.name if skill.name == SKILL or root is not None else skill.stem
    if function:
        # Plain names beside several skills are nobody's.
        evidence, bindings = _existing(own_evidence), _existing(own_bindings)
        return Target(function, f"{shown(skill, base)}::{function}", skill, evidence, bindings, function=function)
    return Target(name, shown(skill, base), skill, evidence, bindings)


def _beside(skill: Path, function: str = "") -> tuple[str, ...]:
    plain = (EVIDENCE, BINDINGS, places.DECISIONS)
    return (*(f"{function or skill.stem}.{name}" for name in plain), *plain)


def shown(path: Path, base: Path) -> str:
    """A path as reports show it: relative to ``base`` where it lies below it, else as short as it can be said."""
    absolute = path.absolute()
    for candidate in (absolute, path.resolve()):
        if candidate.is_relative_to(base):
            return candidate.relative_to(base).as_posix()
    return Path(os.path.relpath(absolute, base)).as_posix()


def _existing(path: Path) -> Path | None:
    return path if path.is_file() else None


def _git(where: Path, *arguments: str) -> str:
    try:
        done = subprocess.run([*_GIT, *arguments], cwd=where, capture_output=True, check=False)
    except OSError as e:
        raise ConfigError(f"git cannot be started ({e.strerror or e})", "--since needs git.", where) from e
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        what = said[-1] if said else "no such revision"
        advice = "--since needs a git work tree and a revision that it has."
        if any("origin/HEAD" in a for a in arguments):
            advice += " Only a clone has origin/HEAD: git remote set-head origin -a makes it, or name the branch."
        raise ConfigError(f"git {arguments[0]} failed: {what}", advice, where)
    return os.fsdecode(done.stdout)
