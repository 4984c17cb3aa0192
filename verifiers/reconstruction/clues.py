"""What the text of commands and outputs tells about a workspace, before anything is run."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from sandbox.interface import JsonValue
from verifiers.expectation.rooting import WORKSPACE
from verifiers.interface import Evidence
from verifiers.shell.commands import TABLE
from verifiers.shell.script import Token, parse_script

_MORE_WRITERS = frozenset({"csplit", "dd", "patch", "rsync", "sponge", "unzip"})
_WRITERS = _MORE_WRITERS | {name for name, spec in TABLE.items() if spec.kind == "change"} - {"tar"}
_GLOB = re.compile(r"[*?\[]")
_COUNTED = re.compile(r"\s*(\d{1,15})\s+(\S.*)")
_COUNTED_AFTER = re.compile(r"([^:]+):(\d{1,15})")
_HIT = re.compile(r"([^:\s][^:]*):(?:(\d{1,15}):)?(.*)")
_MODE = re.compile(r"(?P<kind>[-dl])(?P<mode>[-rwxsStT]{9}) (?P<size>\d{0,15}) (?P<name>.+)")
_DIGEST = re.compile(r"[0-9a-f]{32,128} [ *](.+)")
_PRINTF = re.compile(r"%[-0-9.]*([a-zA-Z%])|\\[nt0]")


@dataclass(frozen=True, slots=True)
class Sighting:
    """A path that an output mentions."""

    path: str
    """As printed, relative to the step's directory or to what it lists."""
    directory: bool = False
    mode: int | None = None
    lines: int | None = None
    """How many lines the file has."""
    size: int | None = None
    target: str | None = None
    line: tuple[int, str] | None = None
    """One line of the file, with its number (0 = not told)."""


@dataclass(frozen=True, slots=True)
class Clues:
    """Literals of a trace's commands by the part they may play."""

    places: tuple[str, ...]
    """Words that may be paths, without globs."""
    globs: tuple[str, ...]
    """Name patterns."""
    fragments: tuple[str, ...]
    """Pieces of words around expansions and ``{}``, and both sides of substitutions: what renames add or take away."""
    searched: tuple[str, ...]
    """Plain words that ``grep`` and ``sed`` look for."""
    file_mode: int = 0o644
    """For files whose mode nothing shows: one that no command sets, so that setting it is seen."""
    dir_mode: int = 0o755
    root: str | None = None
    """Where the workspace lay, if the commands name absolute paths in it."""
    set_modes: frozenset[int] = frozenset()
    """Modes that the commands set: what shows one of them later does not tell what was there before."""


def clues(evidence: Evidence) -> Clues:
    """The clues in all commands of a trace."""
    every = parse_script(evidence.commands).words
    words = [w for w in every if w.slot != "name"]
    plain = [t for w in words for t in w.expanded() if w.slot != "option"]
    places = [t.rstrip("/") or t for t in plain if _is_place(t)]
    globs = [t for t in plain if _GLOB.search(t) and len(t) < 200 and not re.search(r"[\s$`|\\^]", t)]
    fragments = [p for t in plain for p in _fragments(t)]
    searched = list(_searched(every))
    unseen = [m for m in (0o644, 0o640, 0o600) if f"{m:o}" not in plain]
    unseen_dir = [m for m in (0o755, 0o750, 0o700) if f"{m:o}" not in plain]
    file_mode, dir_mode = unseen[0] if unseen else 0o644, unseen_dir[0] if unseen_dir else 0o755
    modes = frozenset(int(t, 8) for t in plain if re.fullmatch(r"[0-7]{3,4}", t))
    lists = [tuple(dict.fromkeys(x)) for x in (places, globs, fragments, searched)]
    root = WORKSPACE if evidence.rewritten else evidence.workspace_root
    return Clues(lists[0], lists[1], lists[2], lists[3], file_mode, dir_mode, root, modes)


def _is_place(text: str) -> bool:
    return (
        bool(text)
        and len(text) < 300
        and not _GLOB.search(text)
        and not re.search(r"[\n$`|<>;&\\{}\0]", text)
        and not text.startswith("-")
    )


def _fragments(text: str) -> Iterator[str]:
    """``PRE_`` of ``PRE_{}``, ``.html`` and ``.txt`` of ``${f%.html}.txt``, ``foo`` and ``bar`` of ``s/foo/bar/``."""
    found = re.fullmatch(r"[sy]([^\w\s])(.*)\1(.*)\1\w*", text)
    if found:
        yield from (re.sub(r"\\(.)", r"\1", part).strip("^$") for part in found.groups()[1:] if part)
        return
    for part in re.split(r"\{\}|\$\w+|\$\{\w+|[}*%#]+", text):
        if 0 < len(part) < 60 and part != text and "/" not in part and "$" not in part:
            yield part


def _searched(words: Sequence[Token]) -> Iterator[str]:
    """What ``grep`` (its first plain word) and ``sed`` (the first part of its script) look for, where it is plain text."""
    due = False
    for word in words:
        text = ""
        if word.text.endswith("grep"):
            due = True
        elif due and not word.text.startswith("-"):
            due, text = False, word.text
        elif "/" in word.text and (found := re.match(r"(?:.*?[sy])?/([^/]*)/\S*$", word.text)):
            text = found[1]
        if re.fullmatch(r"[\w .,:@=-]+", text):
            yield text


def writes(evidence: Evidence) -> bool:
    """Whether the commands' text says that they change files: a known writer, ``sed -i``, a redirection into a file."""
    for word in parse_script(evidence.commands).words:
        target = word.slot == ">" and word.text != "/dev/null" and not word.text.isdecimal()
        in_place = word.program == "sed" and re.fullmatch(r"-\w*i.*|--in-place.*", word.text)
        deletes = word.program == "find" and word.text == "-delete"
        hosted = word.slot in ("-exec", "-execdir", "#0") and word.program in ("find", "xargs")
        if target or in_place or deletes or ((word.slot == "name" or hosted) and word.text in _WRITERS):
            return True
    return False


def words_of_step(evidence: Evidence, step: int) -> list[Token]:
    return [w for w in parse_script(evidence.commands).words if w.step == step]


def operands(evidence: Evidence, step: int) -> list[str]:
    """Words of a step that may name files, without globs."""
    words = [w for w in words_of_step(evidence, step) if w.slot not in ("name", "option")]
    words = [w for w in words if not (w.program == "xargs" and w.slot == "#0") and not w.slot.startswith(("-exec", "-ok"))]
    return list(dict.fromkeys(t for w in words for t in w.expanded() if _is_place(t)))


def programs(evidence: Evidence, step: int) -> list[str]:
    words = words_of_step(evidence, step)
    named = [w.text for w in words if w.slot == "name"]
    hosted = [w.text for w in words if w.program in ("find", "xargs", "sudo", "env") and w.slot != "option"]
    return [*named, *hosted]


def sightings(evidence: Evidence, step: int, lines: Sequence[str]) -> list[Sighting]:
    """Paths that the lines of a step's output name, as its commands print them. Lines that name none are passed over."""
    ran = programs(evidence, step)
    form = _printf_form(evidence, step)
    out: list[Sighting] = []
    heading = ""
    recursive = "ls" in ran and any(re.fullmatch(r"-\w*R\w*", w.text) for w in words_of_step(evidence, step))
    for line in lines:
        if not line.strip() or line.startswith(("bash: ", "find: ", "ls: ")):
            continue
        if recursive and line.endswith(":"):
            heading = "" if line == ".:" else line[:-1].removeprefix("./")
            out += [Sighting(heading, directory=True)] if heading else []
            continue
        seen = form(line) if form is not None else _plain(line, ran)
        if seen is not None:
            joined = posixpath.join(heading, seen.path) if heading else seen.path
            out.append(replace(seen, path=joined))
    only_dirs = any(a.text == "-type" and b.text == "d" for a, b in pairwise(words_of_step(evidence, step)))
    return [Sighting(s.path, True, s.mode) if only_dirs else s for s in out]


def _plain(line: str, ran: list[str]) -> Sighting | None:
    listing = _MODE.fullmatch(line)
    if listing:
        name, _, target = listing["name"].partition(" -> ") if listing["kind"] == "l" else (listing["name"], "", "")
        size = int(listing["size"]) if listing["size"] else None
        return (
            Sighting(name, listing["kind"] == "d", mode_bits(listing["mode"]), size=size, target=target or None)
            if name != "."
            else None
        )
    digest = _DIGEST.fullmatch(line)
    if digest:
        return Sighting(digest[1])
    counted = _COUNTED.fullmatch(line)
    if "wc" in ran and counted:
        return Sighting(counted[2], lines=int(counted[1])) if counted[2] != "total" else None
    if "grep" in ran and (after := _COUNTED_AFTER.fullmatch(line)):
        return Sighting(after[1], lines=int(after[2]))
    if "grep" in ran and (hit := _HIT.fullmatch(line)):
        return Sighting(hit[1].removeprefix("./"), line=(int(hit[2] or 0), hit[3]))
    if len(line) > 255 or "\0" in line or "//" in line:
        return None
    return Sighting(line.removeprefix("./").rstrip("/") or ".", line.endswith("/"))


def mode_bits(text: str) -> int:
    """``rwxr-x--T`` as permission bits."""
    bits = 0
    for i, char in enumerate(text):
        if char in "rwxst":
            bits |= 1 << (8 - i)
        if char in "sStT":
            bits |= {2: 0o4000, 5: 0o2000, 8: 0o1000}.get(i, 0)
    return bits


def _printf_form(evidence: Evidence, step: int) -> Callable[[str], Sighting | None] | None:
    """How lines of ``find -printf FORMAT`` or ``stat -c FORMAT`` are read; None where the step has neither."""
    words = words_of_step(evidence, step)
    formats = [
        w.text for w in words if w.slot in ("-printf", "-c", "--format", "--printf") and w.program in ("find", "stat", "xargs")
    ]
    if not formats:
        return None
    stat = "stat" in programs(evidence, step)
    pattern = _pattern(formats[0], stat)

    def read(line: str) -> Sighting | None:
        found = pattern.fullmatch(line)
        if found is None:
            return None
        parts = found.groupdict()
        kind = parts.get("kind") or ""
        mode = int(parts["mode"], 8) if parts.get("mode") else None
        size = int(parts["size"]) if parts.get("size") and kind in ("", "f") else None
        return Sighting((parts.get("path") or ".").removeprefix("./") or ".", kind == "d", mode, size=size)

    return read


def _pattern(form: str, stat: bool) -> re.Pattern[str]:
    """A regular expression for one line of a format; each part is named once."""
    names = (
        {"n": "path", "a": "mode", "s": "size"}
        if stat
        else {"p": "path", "P": "path", "f": "path", "m": "mode", "s": "size", "y": "kind"}
    )
    out, at = "", 0
    for found in _PRINTF.finditer(form):
        out += re.escape(form[at : found.start()])
        at = found.end()
        name = names.get(found[1] or "")
        if found[0].startswith("\\"):
            out += {"\\t": "\t"}.get(found[0], "")
        elif found[1] == "%":
            out += "%"
        elif name is None or f"(?P<{name}>" in out:
            out += ".*?"
        else:
            out += f"(?P<{name}>" + {"path": ".*", "mode": "[0-7]{1,4}", "size": "[0-9]{1,15}", "kind": "."}[name] + ")"
    return re.compile(out + re.escape(form[at:]))


def matching_name(pattern: str, number: int) -> str:
    """A name that a glob pattern matches: ``*.txt`` gives ``item1.txt``."""
    text = re.sub(r"\[!?\^?(.)[^\]]*\]", r"\1", pattern).replace("?", "q")
    parts = text.split("*")
    return f"item{number}".join(parts[:2]) + "".join(parts[2:]) if len(parts) > 1 else text


def json_for(query: str, output: str) -> str | None:
    """A JSON document in which a jq path (``.a."b"``) leads to ``output``; None for other queries."""
    keys = re.findall(r'\."([^"]+)"|\.\["([^"]+)"\]|\.([A-Za-z_]\w*)', query)
    if not keys or re.sub(r'\."[^"]+"|\.\["[^"]+"\]|\.[A-Za-z_]\w*', "", query).strip():
        return None
    try:
        value: JsonValue = json.loads(output)
    except ValueError:
        value = output.rstrip("\n")
    for groups in reversed(keys):
        value = {next(g for g in groups if g): value}
    return json.dumps(value, ensure_ascii=False) + "\n"
