"""What the examples of several checks share: a good skill for each kind of evidence below ``fixtures/examples``, and its
arguments."""

from __future__ import annotations

from collections.abc import Mapping

from sandbox.interface import JsonValue
from verifiers.interface import Example

HEAD = """from pathlib import Path

from skill_api import Query, skill_command


@skill_command(autowire=True)
"""

RENAME_ARGS: Mapping[str, Mapping[str, JsonValue]] = {
    "pub_rename_ext-01": {"old_ext": "html", "new_ext": "txt"},
    "pub_rename_ext-02": {"old_ext": "txt", "new_ext": "md"},
    "pub_rename_ext-03": {"old_ext": "jpeg", "new_ext": "jpg"},
}
APPEND_ARGS: Mapping[str, Mapping[str, JsonValue]] = {
    "pub_append_line-01": {"file": "hosts", "line": "127.0.0.1 build.local"},
    "pub_append_line-02": {"file": "my list.txt", "line": "milk & eggs"},
    "pub_append_line-03": {"file": ".bashrc", "line": "alias ll='ls -l'"},
}
COUNT_ARGS: Mapping[str, Mapping[str, JsonValue]] = {
    "pub_count_lines-01": {"ext": "php"},
    "pub_count_lines-02": {"ext": "c"},
    "pub_count_lines-03": {"ext": "go"},
}

SAME_COUNTS: Mapping[str, Mapping[str, JsonValue]] = {f"same-{i}": {"ext": e} for i, e in enumerate(("py", "rs", "js"))}

QUERY = "str = Query(..., description='value')"
RENAME_HEAD = HEAD + f"async def rename(old_ext: {QUERY}, new_ext: {QUERY}) -> dict[str, object]:\n"
APPEND_HEAD = HEAD + f"async def ensure(file: {QUERY}, line: {QUERY}) -> dict[str, object]:\n"
COUNT_HEAD = HEAD + f"async def count(ext: {QUERY}) -> dict[str, object]:\n"

RENAME_BODY = '''    """Rename every file with one suffix to another."""
    files = sorted(p for p in Path(".").glob("*." + old_ext))
    for p in files:
        target = p.with_name(p.name[: -len(old_ext)] + new_ext)
        if target.exists():
            raise FileExistsError(str(target))
        p.rename(target)
    return {"ok": True, "changed": len(files)}
'''
APPEND_BODY = '''    """Append a line unless it is there."""
    p = Path(file)
    text = p.read_text() if p.exists() else ""
    if line not in text.splitlines():
        p.write_text(text + line + "\\n")
    return {"ok": True}
'''
COUNT_BODY = '''    """Count the lines of all files with a suffix."""
    files = sorted(p for p in Path(".").rglob("*." + ext) if p.is_file())
    return {"ok": True, "output": str(sum(p.read_bytes().count(b"\\n") for p in files))}
'''


def rename(title: str, body: str = RENAME_BODY) -> Example:
    """A skill judged on the renaming evidence."""
    return Example(title, RENAME_HEAD + body, "rename", RENAME_ARGS)


def append(title: str, body: str = APPEND_BODY) -> Example:
    """A skill judged on the appending evidence."""
    return Example(title, APPEND_HEAD + body, "append", APPEND_ARGS)


def count(title: str, body: str = COUNT_BODY) -> Example:
    """A skill judged on the counting evidence (read-only)."""
    return Example(title, COUNT_HEAD + body, "count", COUNT_ARGS)
