"""What to try next: changes to a base that may bring a replay nearer to its recording. Guesses, every one; the replay decides."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from sandbox.interface import ROOT, Entry, Snapshot
from verifiers.interface import Evidence
from verifiers.reconstruction.clues import Clues, Sighting, json_for, matching_name, operands, programs, sightings, words_of_step
from verifiers.reconstruction.compare import Gap, Step

MAX_FILES = 40
"""Files that one guess creates at most."""
MAX_LINES = 20_000
MAX_BYTES = 1 << 24
"""Size of a file that an output tells of; a larger one is not made up, whatever a trace says."""
_DIR = Entry("dir", 0o755)
_QUOTED_PATH = re.compile(r"['‘`]([^'’`]+)['’]")
_NEEDS_PARENT = re.compile(r"touch: |mkdir: |cannot create|cannot move .* to |failed to create")
_NUMBER = re.compile(r"\d{1,15}")


@dataclass(frozen=True, slots=True)
class Guess:
    """A changed base and why."""

    base: Snapshot
    why: str


def guesses(evidence: Evidence, known: Clues, base: Snapshot, gap: Gap) -> list[Guess]:
    """Changed bases to try, most promising first, without repetitions; empty when nothing comes to mind."""
    out: dict[str, Guess] = {}
    sources: tuple[Callable[[Evidence, Clues, Snapshot, Step], Iterator[Guess]], ...] = (
        _absent_operands, _flipped_types, _unexpected_success, _listed, _contents, _numbers, _matches,
    )  # fmt: skip
    for step in gap.steps[:2]:
        turns = [source(evidence, known, base, step) for source in sources]
        while turns:  # one of each kind in turn: no kind crowds out the others
            for turn in list(turns):
                guess = next(turn, None)
                if guess is None:
                    turns.remove(turn)
                else:
                    out.setdefault(guess.base.digest, guess)
    out.pop(base.digest, None)
    return list(out.values())


# ---------------------------------------------------------------- paths


def clean(path: str, cwd: str = ".", root: str | None = None) -> str | None:
    """A path relative to the workspace, or None if it leads outside or is the workspace itself.

    Args:
        path: Relative to ``cwd``, or absolute below ``root``.
        cwd: Relative to the workspace.
        root: Where the workspace was mounted, if absolute paths are to count.
    """
    if root is not None and path.startswith(root + "/"):
        path, cwd = path[len(root) + 1 :], "."
    joined = posixpath.normpath(posixpath.join(cwd, path))
    if joined.startswith(("/", "..")) or joined == ROOT or "\0" in joined:
        return None
    if any(len(as_bytes(p)) > 255 for p in joined.split("/")):
        return None
    return joined if as_bytes(joined).decode("utf-8", "surrogateescape") == joined else None


def with_paths(base: Snapshot, new: Mapping[str, Entry]) -> Snapshot | None:
    """The base with entries set; files in the way of new directories become directories. None if a path runs below a new file."""
    changes: dict[str, Entry | None] = dict(new)
    for path in new:
        parent = posixpath.dirname(path)
        while parent:
            if new.get(parent, _DIR).type != "dir":
                return None
            if parent in base and parent not in new and base[parent].type != "dir":
                changes[parent] = _DIR
            parent = posixpath.dirname(parent)
    made = base.replace(changes)
    return made if all(made.get(posixpath.dirname(p), _DIR).type == "dir" for p in made) else None


def as_bytes(text: str) -> bytes:
    """Text as file content; what is neither UTF-8 nor an escaped byte becomes a question mark."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def sentinel(path: str, mode: int = 0o644) -> Entry:
    """A file whose content nothing shows: a few lines that name it, so that mixing up files is noticed."""
    stem = posixpath.basename(path)
    return Entry("file", mode, as_bytes(f"{stem} one\nsecond line of {stem}\n3 last\n"))


def _lines(count: int, words: tuple[str, ...] = ()) -> bytes:
    text = " ".join(words)
    return "".join(f"line {i} {text}".rstrip() + "\n" for i in range(1, min(count, MAX_LINES) + 1)).encode()


# ---------------------------------------------------------------- the guesses


def absent_path(line: str) -> str | None:
    """The path that an error line complains about; None for other lines."""
    if "No such file or directory" not in line:
        return None
    quoted = _QUOTED_PATH.findall(line)
    if quoted:
        return str(quoted[-1])
    found = re.fullmatch(r"(.*?): No such file or directory.*", line)
    if found is None:
        return None
    text = found[1]
    text = re.sub(r"^(?:bash: line \d+: |/bin/sh: \d+: )", "", text)
    text = re.sub(r"^[\w.+-]+: (?:error: )?", "", text)
    return re.sub(r"^(?:can't read|can't open file|Could not open(?: file)?|cannot open) ", "", text)


def _absent_operands(evidence: Evidence, known: Clues, base: Snapshot, step: Step) -> Iterator[Guess]:
    """The replay misses what the recording had: as files, as directories, as directories with something in them."""
    paths: list[str] = []
    parents: list[str] = []
    for line in step.extra:
        path = absent_path(line)
        if path is None:
            continue
        names = [matching_name(path, n) for n in (1, 2)] if "*" in path else [path]
        cleaned = [c for n in names if (c := clean(n, step.cwd, known.root)) is not None]
        (parents if _NEEDS_PARENT.search(line) else paths).extend(cleaned)
    above = {d: Entry("dir", known.dir_mode) for p in [*parents, *paths] if (d := posixpath.dirname(p))}
    files = {p: sentinel(p, known.file_mode) for p in paths}
    dirs = {p: Entry("dir", known.dir_mode) for p in paths}
    filled = {posixpath.join(p, "file.txt"): sentinel(p + "/file.txt", known.file_mode) for p in paths}
    recursive = any(re.fullmatch(r"-\w*[rRa]\w*|--recursive|--archive", w.text) for w in words_of_step(evidence, step.index))
    into_dir = bool({"find", "cd", "ls", "du", "tar", "tree"} & set(programs(evidence, step.index)))
    forms = [(filled, "directories"), (dirs, "empty directories"), (files, "files")]
    if not recursive and not into_dir:
        forms.reverse()
    for form, kind in [*forms, (above, "parent directories")]:
        new = with_paths(base, form) if form else None
        if new is not None:
            yield Guess(new, f"step {step.index + 1} needs {', '.join(list(form)[:3])} ({kind})")


def _flipped_types(evidence: Evidence, known: Clues, base: Snapshot, step: Step) -> Iterator[Guess]:
    """A file where a directory is wanted, or the other way round: paths that both sides mention differently."""
    text = "\n".join((*step.extra, *step.missing))
    leaves = [p for p in base if p != ROOT and posixpath.basename(p) in text and not any(q.startswith(p + "/") for q in base)]
    flipped = {
        p: Entry("dir", known.dir_mode) if base[p].type != "dir" else sentinel(p, known.file_mode) for p in leaves[:MAX_FILES]
    }
    mentioned = [p for p in flipped if any(p.endswith(line.split()[-1]) for line in step.missing if line.split())]
    for chosen in (mentioned, *([p] for p in list(flipped)[:6])):
        if chosen:
            yield Guess(base.replace({p: flipped[p] for p in chosen}), f"{chosen[0]} is of the other type")


def _unexpected_success(evidence: Evidence, known: Clues, base: Snapshot, step: Step) -> Iterator[Guess]:
    """The recording complains of a missing path that the base has."""
    complained = [clean(p, step.cwd, known.root) for line in step.missing if (p := absent_path(line))]
    gone = [p for p in complained if p is not None and p in base]
    if gone:
        yield Guess(base.replace(dict.fromkeys(gone)), f"{gone[0]} was not there")


def _listed(evidence: Evidence, known: Clues, base: Snapshot, step: Step) -> Iterator[Guess]:
    """Names that the recording lists: as they are, below each place that the commands name, and as they were before a rename."""
    lines = [line for line in step.missing if not line.strip().isdecimal() and absent_path(line) is None]
    seen = sightings(evidence, step.index, lines)[: 5 * MAX_FILES]
    if not seen:
        return
    near = [p for p in operands(evidence, step.index) if clean(p, step.cwd, known.root) is not None]
    places = list(dict.fromkeys(["", *near, *known.places]))[:10]
    for new, old in _renames(known, seen):
        chosen = [s for s in seen if new in s.path] if new else seen
        entries = [replace(s, path=_in_name(s.path, new, old)) for s in chosen]
        how = f" (once with {old!r} for {new!r})" if new else ""
        others = [] if len(chosen) == len(seen) else [s for s in seen if s not in chosen]
        for place in places:
            for more in ([], others) if others else ([],):
                made = with_paths(base, dict(_entries(known, [*entries, *more], place, step.cwd)))
                if made is not None:
                    yield Guess(made, f"step {step.index + 1} lists {seen[0].path}{how}{' below ' + place if place else ''}")


def _entries(known: Clues, seen: list[Sighting], place: str, cwd: str) -> Iterator[tuple[str, Entry]]:
    inner = {posixpath.dirname(s.path) for s in seen}
    for s in seen:
        path = clean(posixpath.join(place, s.path), cwd, known.root)
        mode = s.mode if s.mode not in known.set_modes else None
        if path is None:
            continue
        if s.target is not None:
            yield path, Entry("symlink", 0o777, target=s.target)
        elif s.directory or s.path in inner:
            yield path, Entry("dir", known.dir_mode if mode is None else mode)
        else:
            content = _content_of(s, path, [t.line for t in seen if t.path == s.path and t.line is not None])
            yield path, Entry("file", known.file_mode if mode is None else mode, content)


def _content_of(s: Sighting, path: str, shown: list[tuple[int, str]]) -> bytes:
    """What is known of a file's content: lines that were shown at their places, so many lines or bytes, else a sentinel."""
    if shown:
        numbered = {n: text for n, text in shown if 0 < n <= MAX_LINES}
        told = [numbered.get(n, f"line {n}") for n in range(1, max(numbered, default=0) + 1)]
        return as_bytes("".join(line + "\n" for line in (*told, *(text for n, text in shown if not n))))
    if s.lines is not None:
        return _lines(s.lines)
    if s.size is not None and s.size <= MAX_BYTES:
        return b"x" * (s.size - 1) + b"\n" if s.size else b""
    return sentinel(path).content


def _renames(known: Clues, seen: list[Sighting]) -> Iterator[tuple[str, str]]:
    """Ways to undo what the commands may have done to names: (piece there now, piece there before); ("", "") = nothing."""
    yield "", ""
    used = [f for f in known.fragments if any(_in_name(s.path, f, "") != s.path for s in seen)][:4]
    for new in used:
        yield new, ""
    for new in used:
        yield from ((new, old) for old in [f for f in known.fragments if f != new][:4])


def _in_name(path: str, new: str, old: str) -> str:
    """The path with ``new`` at the start or end (of it or of its last part) replaced by ``old``."""
    if not new:
        return path
    head, name = posixpath.split(path)
    if path.startswith(new) and len(path) > len(new):
        return old + path[len(new) :]
    changed = old + name[len(new) :] if name.startswith(new) else name.removesuffix(new) + old if name.endswith(new) else name
    return posixpath.join(head, changed or name)


def _contents(evidence: Evidence, known: Clues, base: Snapshot, step: Step) -> Iterator[Guess]:
    """The content of a file that the step reads, guessed from what the step printed."""
    text = "\n".join(step.missing) + "\n" if step.missing else ""
    recorded = evidence.stdout(step.index) or text
    files = [
        c
        for p in operands(evidence, step.index)
        if (c := clean(p, step.cwd, known.root)) is not None and (c not in base or base[c].type == "file")
    ]
    files += [p for p in base if base[p].type == "file" and p not in files][:3]
    if not recorded.strip() and step.extra:
        full = [p for p in files if p in base and base[p].content]
        for chosen in (full, *([p] for p in full[:4])):
            empty = {p: Entry("file", base[p].mode) for p in chosen}
            yield Guess(base.replace(empty), f"{', '.join(chosen[:2])} holds nothing")
    if not recorded.strip() or any("No such file" in line for line in step.missing):
        return
    for path in files[:4]:
        mode = base[path].mode if path in base else 0o644
        parts = [(recorded, "")] if text.strip() == recorded.strip() else [(recorded, ""), (text, "what is missing of ")]
        options = [(c, part + how) for given, part in parts for c, how in _content_guesses(evidence, known, step.index, given)]
        for content, how in options:
            new = with_paths(base, {path: Entry("file", mode, as_bytes(content))})
            if new is not None:
                yield Guess(new, f"{path} holds {how} of step {step.index + 1}")
    many = {p: "" for p in files if p in base}
    if len(many) > 1:  # all but the first of several inputs empty
        first, *rest = many
        entries = {first: Entry("file", 0o644, as_bytes(recorded)), **{p: Entry("file") for p in rest}}
        yield Guess(base.replace(entries), f"{first} holds the output of step {step.index + 1}, the others nothing")


def _content_guesses(evidence: Evidence, known: Clues, step: int, recorded: str) -> Iterator[tuple[str, str]]:
    lines = recorded.splitlines(keepends=True)
    if len(lines) > 1:
        ended = [line if line.endswith("\n") else line + "\n" for line in lines]
        yield "".join(reversed(ended)), "the reversed output"
    whole = recorded if recorded.endswith("\n") else recorded + "\n"
    yield whole, "the output"
    yield whole + "\n", "the output and an empty line"
    for word in words_of_step(evidence, step):
        if word.program in ("jq", "yq") and (document := json_for(word.text, recorded)) is not None:
            yield document, "JSON with the output"
    value = recorded.strip()
    if re.fullmatch(r"-?\d+(?:\.\d+)?", value):
        yield ",".join([value] * 8) + "\n", "a row with the output"
        yield " ".join([value] * 8) + "\n", "a row with the output"
    for found in known.searched[:3]:
        yield "".join(f"{line.rstrip()} {found}\n" for line in lines), f"the output and {found!r}"


def _numbers(evidence: Evidence, known: Clues, base: Snapshot, step: Step) -> Iterator[Guess]:
    """A count that is off: more or fewer lines or bytes in one file, more or fewer files like the ones there are."""
    for missing in step.missing:
        for extra in step.extra:
            wanted, had = _NUMBER.findall(missing), _NUMBER.findall(extra)
            if _NUMBER.sub("N", missing).split() != _NUMBER.sub("N", extra).split() or len(wanted) != len(had) or wanted == had:
                continue
            delta = next(int(w) - int(h) for w, h in zip(wanted, had, strict=True) if w != h)
            if abs(delta) <= MAX_LINES:
                yield from _resized(evidence, known, base, step, delta)
            return
    # Blank to str.strip() is more than to int().
    only = step.missing[0].strip() if len(step.missing) == 1 and not step.extra else ""
    if only.isdecimal() and len(only) < 10 and int(only) <= MAX_LINES:
        yield from _resized(evidence, known, base, step, int(only))


def _resized(evidence: Evidence, known: Clues, base: Snapshot, step: Step, delta: int) -> Iterator[Guess]:
    named = [c for p in operands(evidence, step.index) if (c := clean(p, step.cwd, known.root)) in base]
    files = [p for p in [*named, *base] if base[p].type == "file"]
    if delta > 0:
        sizes = [delta - 2 * (delta // 3), delta // 3, delta // 3] if delta >= 3 else [1] * delta
        yield from _made(evidence, known, base, step, sizes)
        if delta <= MAX_FILES:
            yield from _made(evidence, known, base, step, [1] * delta)
    for path in list(dict.fromkeys(files))[:3]:
        old = base[path].content
        have = old.count(b"\n")
        longer = (
            old + _lines(delta, known.searched) if delta > 0 else b"".join(old.splitlines(keepends=True)[: max(0, have + delta)])
        )
        sized = old + b"x" * delta if delta > 0 else old[: max(0, len(old) + delta)]
        for content in (longer, sized):
            entry = Entry("file", base[path].mode, content)
            yield Guess(base.replace({path: entry}), f"{path} is {abs(delta)} {'longer' if delta > 0 else 'shorter'}")
    if delta < 0 and len(files) >= -delta:
        yield Guess(base.replace(dict.fromkeys(files[delta:])), f"{-delta} files fewer")


def _matches(evidence: Evidence, known: Clues, base: Snapshot, step: Step) -> Iterator[Guess]:
    """Nothing was found where the recording found something: a file that the patterns match."""
    if step.missing and not step.extra:
        text = "".join(line + "\n" for line in step.missing)
        for place in _directories(evidence, known, step):
            for pattern in known.globs[:3]:
                path = clean(posixpath.join(place, matching_name(posixpath.basename(pattern), 1)), step.cwd, known.root)
                new = with_paths(base, {path: Entry("file", 0o644, as_bytes(text))}) if path else None
                if new is not None:
                    yield Guess(new, f"{path} holds the output of step {step.index + 1}")


def _directories(evidence: Evidence, known: Clues, step: Step) -> list[str]:
    """Where made files may lie: the step's first operand if it is a place, the directory of a glob, the current directory."""
    named = operands(evidence, step.index)[:1]
    from_globs = [posixpath.dirname(g) for g in known.globs if posixpath.dirname(g)]
    return list(dict.fromkeys([*named, *from_globs, ""]))[:3]


def _made(evidence: Evidence, known: Clues, base: Snapshot, step: Step, sizes: list[int]) -> Iterator[Guess]:
    """New files of so many lines whose names match the patterns in the commands and whose lines hold what is searched for."""
    for place in _directories(evidence, known, step):
        for pattern in [posixpath.basename(g) for g in known.globs[:3]] or ["item*.txt"]:
            paths = (
                clean(posixpath.join(place, matching_name(pattern, n)), step.cwd, known.root) for n in range(1, 3 * MAX_FILES)
            )
            free = list(dict.fromkeys(p for p in paths if p is not None and p not in base))[: len(sizes)]
            new = {p: Entry("file", known.file_mode, _lines(n, known.searched)) for p, n in zip(free, sizes, strict=False)}
            made = with_paths(base, new) if len(new) == len(sizes) else None
            if made is not None:
                yield Guess(made, f"step {step.index + 1} counts {sum(sizes)}: files like {free[0]}")
