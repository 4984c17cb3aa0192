"""What a model is told of recordings: bounded, redacted JSON data that cannot be taken for instructions."""

from __future__ import annotations

import difflib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.interface import ROOT, Entry, effects
from synth.crystallization.holdout import case_key
from synth.tracing.redact import redact_value
from verifiers.conventions.programs import named
from verifiers.interface import Edit, Evidence


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of recordings is shown."""

    text: int = 1_500
    """Characters of one output, one diff or one file that the commands touch."""
    head: int = 160
    """Characters of a file that they do not touch."""
    paths: int = 40
    """Paths of one workspace, and changes of one recording."""
    full: int = 6
    """Recordings shown in full; of the others request and commands only."""


FULL = Detail()
DETAILS = (FULL, Detail(900, 80, 24, 5), Detail(600, 40, 14, 4), Detail(400, 0, 8, 3))
"""From much to little: the first one that fits is taken, the last one anyway."""
ENOUGH = 12_000
"""Characters of a block of recordings, some 4,000 tokens: more is paid for in every request, and says little more."""
_BOOKS = re.compile(r"(^|/)\.git/(objects|logs|hooks|info|index|COMMIT_EDITMSG|ORIG_HEAD|branches|description)\b")
"""What git keeps of its own accord: it says nothing of a task that refs and files do not."""
MAX_OTHERS = 12
MAX_FAILURES = 2


def recordings(evidence: Sequence[Evidence], failures: Sequence[Evidence] = ()) -> str:
    """The recordings as one block of data. Equal evidence gives equal text, so that the service can cache it."""
    shown = ""
    for detail in DETAILS:
        shown = block("recordings", _document(evidence, failures, detail))
        if len(shown) <= ENOUGH:
            break
    return shown


def _document(evidence: Sequence[Evidence], failures: Sequence[Evidence], detail: Detail) -> dict[str, Any]:
    full = {id(e) for e in diverse(evidence)[: detail.full]}
    rows = [_recording(e, detail) for e in evidence if id(e) in full]
    others = [e for e in evidence if id(e) not in full]
    rows += [_short(e, detail) for e in others[:MAX_OTHERS]]
    document: dict[str, Any] = {"recordings": rows}
    if len(others) > MAX_OTHERS:
        document["not_shown"] = [e.task_id for e in others[MAX_OTHERS:]]
    if failures:
        document["failed_recordings"] = [_recording(e, detail) for e in diverse(failures)[:MAX_FAILURES]]
    return document


def block(tag: str, value: object) -> str:
    """``value`` as JSON between tags that the JSON itself cannot contain, with secrets taken out."""
    # Before it is quoted: a quoted newline is no end of a line, and a value would run on into the next.
    text = json.dumps(redact_value(value), ensure_ascii=False, indent=1)
    # A lone "<" of the data becomes an escape: no recording can close the block that it is in.
    safe = text.replace("<", "\\u003c").encode("utf-8", "backslashreplace").decode()
    return f"<{tag}>\n{safe}\n</{tag}>"


def diverse(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The recordings so that the first ones differ most: other programs, other effects, other exit codes; copies last."""
    groups: dict[object, list[Evidence]] = defaultdict(list)
    seen: set[str] = set()
    copies = []
    for e in evidence:
        if (key := case_key(e)) in seen:
            copies.append(e)
            continue
        seen.add(key)
        groups[_kind(e)].append(e)
    out: list[Evidence] = []
    rows = [sorted(group, key=_size) for group in groups.values()]
    while any(rows):
        out += [row.pop(0) for row in rows if row]
    return out + copies


def changes(before: Mapping[str, Entry], after: Mapping[str, Entry], detail: Detail = FULL) -> list[dict[str, Any]]:
    """What became of a tree, a row a path: renames as such, texts as diffs."""
    by_path: dict[str, list[str]] = defaultdict(list)
    for effect in effects(before, after):
        by_path[effect.path].append(effect.kind)
    gone = {p: before[p] for p, kinds in by_path.items() if kinds == ["removed"]}
    rows = []
    moved: set[str] = set()
    for path, kinds in by_path.items():
        new = after.get(path)
        source = next((p for p, e in gone.items() if p not in moved and e == new and e.content), None)
        if kinds == ["created"] and source is not None:
            moved.add(source)
            rows.append({"path": name(path), "what": f"renamed from {name(source)}"})
        elif path not in gone:
            rows.append({"path": name(path), "what": ", ".join(kinds), **_difference(before.get(path), new, detail)})
    rows += [{"path": name(p), "what": "removed"} for p in gone if p not in moved]
    books = [r for r in rows if _BOOKS.search(r["path"])]
    kept = [r for r in rows if r not in books]
    return [*kept, {"path": ".git", "what": f"{len(books)} paths of objects, logs and index"}] if books else kept


def tree(snapshot: Mapping[str, Entry], touched: Sequence[str] = (), detail: Detail = FULL) -> dict[str, Any]:
    """A workspace: the touched paths first and whole, then some of the others with how they begin."""
    plain = {p.rpartition("/")[0] for p in snapshot}  # directories that their contents show
    paths = [
        p for p in snapshot
        if p != ROOT and not _BOOKS.search(p) and not (p in plain and snapshot[p].type == "dir" and snapshot[p].mode == 0o755)
    ]  # fmt: skip
    first = [p for p in touched if p in set(paths)]
    others = [p for p in paths if p not in set(first)]
    shown = {name(p): _entry(snapshot[p], detail.text) for p in first[: detail.paths]}
    shown |= {name(p): _entry(snapshot[p], detail.head) for p in others[: max(detail.paths - len(shown), 5)]}
    return {**shown, "…": f"{len(paths) - len(shown)} more paths"} if len(paths) > len(shown) else shown


def clip(text: str, most: int = FULL.text) -> str:
    """The beginning and the end of a long text."""
    if len(text) <= most + 40:  # what says that something is left out is not shorter
        return text
    head = most * 2 // 3
    return f"{text[:head]}… ({len(text) - most} characters left out) …{text[len(text) - most + head :]}"


def name(path: str) -> str:
    """A path as text, whatever bytes it has."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _kind(e: Evidence) -> object:
    """What makes two recordings alike enough that one of them says most of what the other does."""
    done = effects(e.base, e.post) if e.base is not None and e.post is not None else ()
    return (named(e.commands), frozenset(c.kind for c in done), e.exit_codes, bool(e.edits), len(e.commands))


def _size(e: Evidence) -> tuple[int, str]:
    return (sum(map(len, (*e.commands, *e.outputs))) + 100 * len(e.base or ()), e.task_id)


def _touched(e: Evidence) -> list[str]:
    """Paths that a recording changes or names, those that it changes first."""
    base: Mapping[str, Entry] = e.base or {}
    done = [c.path for c in effects(base, e.post)] if e.post is not None else []
    done += [edit.path for edit in e.edits]
    said = "\n".join((*e.commands, e.description))
    return list(dict.fromkeys([*done, *(p for p in base if p != ROOT and p.rpartition("/")[2] in said)]))


def _short(e: Evidence, detail: Detail) -> dict[str, Any]:
    commands = [clip(c, detail.text) for c in e.commands]
    return {"task_id": e.task_id, "request": clip(e.description, detail.text), "commands": commands}


def _recording(e: Evidence, detail: Detail) -> dict[str, Any]:
    codes = e.exit_codes or (None,) * len(e.commands)
    row: dict[str, Any] = {"task_id": e.task_id, "request": clip(e.description, detail.text)}
    row["steps"] = [
        {
            "command": clip(c, 4 * detail.text),
            **({"output": clip(o, detail.text)} if o else {}),
            **({"exit_code": code} if code else {}),
        }
        for c, o, code in zip(e.commands, e.outputs, codes, strict=True)
    ]
    if e.answer_step < len(e.commands) - 1:
        row["steps"][e.answer_step]["answers"] = True
    if e.edits and (e.commands or e.post is None):  # else the changes say the same
        row["edits"] = [_edit(edit, detail) for edit in e.edits]
    if e.base is not None:
        if e.post is not None:
            done = changes(e.base, e.post, detail)
            row["changes"] = done[: detail.paths] + ([{"more": len(done) - detail.paths}] if len(done) > detail.paths else [])
        row["workspace_before"] = tree(e.base, _touched(e), detail)
    return row


def _edit(edit: Edit, detail: Detail) -> dict[str, Any]:
    return {"after_commands": edit.after_commands, "path": name(edit.path), **_difference(edit.before, edit.after, detail)}


def _difference(before: Entry | None, after: Entry | None, detail: Detail) -> dict[str, Any]:
    """What became of one path; a text that changed is a diff."""
    if before is None or after is None or before.type != "file" or after.type != "file":
        return {"after": _entry(after, detail.text) if after is not None else None}
    out: dict[str, Any] = {}
    if before.mode != after.mode:
        out["mode"] = f"{before.mode:04o} -> {after.mode:04o}"
    if before.content != after.content:
        old, new = _text(before.content), _text(after.content)
        out["diff"] = (
            clip("\n".join(_diff(old, new)), detail.text)
            if old is not None and new is not None
            else "bytes that are not text differ"
        )
    return out


def _diff(old: str, new: str) -> Iterator[str]:
    ends = [] if old.endswith("\n") or not old else ["(no newline at the end before)"]
    ends += [] if new.endswith("\n") or not new else ["(no newline at the end after)"]
    yield from list(difflib.unified_diff(old.splitlines(), new.splitlines(), n=1, lineterm=""))[2:]
    yield from ends


def _entry(entry: Entry, most: int) -> dict[str, Any] | str:
    if entry.type == "symlink":
        return {"link_to": name(entry.target)}
    if entry.type != "file":
        return f"{entry.type} {entry.mode:04o}"
    text = _text(entry.content)
    content = clip(text, most) if text is not None else f"({len(entry.content)} bytes that are not text)"
    return {"content": content, **({"mode": f"{entry.mode:04o}"} if entry.mode != 0o644 else {})}


def _text(content: bytes) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None
