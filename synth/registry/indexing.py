"""The words by which a skill is found, kept in the registry's own database: a skill is routable exactly while it is active."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator

from synth.interface import Draft
from verifiers.subject import parse_subject

_PROGRAM_WORDS = {
    "mv": "rename move change",
    "rename": "rename change",
    "cp": "copy duplicate backup save",
    "rm": "delete remove erase drop",
    "rmdir": "delete remove empty directory",
    "unlink": "delete remove",
    "mkdir": "create make directory folder",
    "touch": "create make empty file",
    "ln": "link symlink shortcut",
    "chmod": "permission mode executable change",
    "chown": "owner ownership change",
    "cat": "show print concatenate join merge",
    "head": "first beginning top",
    "tail": "last end bottom",
    "wc": "count number size lines words",
    "sort": "sort order arrange",
    "uniq": "unique duplicate distinct dedupe",
    "cut": "column field extract",
    "paste": "join column merge combine",
    "join": "join merge combine",
    "grep": "search find match filter contain",
    "find": "search find locate list",
    "ls": "list show",
    "sed": "replace substitute edit change",
    "tr": "translate replace convert character case",
    "awk": "column field sum extract compute",
    "jq": "json query field key",
    "tar": "archive pack bundle extract unpack compress",
    "zip": "zip archive pack compress",
    "unzip": "unzip extract unpack",
    "gzip": "compress zip gz",
    "gunzip": "decompress uncompress extract gz",
    "bzip2": "compress bz2",
    "xz": "compress xz",
    "diff": "difference compare change",
    "cmp": "compare difference",
    "comm": "compare common",
    "patch": "patch apply change",
    "split": "split divide chunk",
    "csplit": "split divide",
    "du": "size disk usage",
    "stat": "size mode information",
    "sha256sum": "checksum hash digest",
    "md5sum": "checksum hash digest",
    "git": "git repository commit version",
    "sqlite3": "database sql table query",
    "make": "build compile target",
    "dos2unix": "line endings convert windows",
    "unix2dos": "line endings convert windows",
    "base64": "encode decode",
    "openssl": "encrypt hash certificate",
    "nl": "number lines",
    "rev": "reverse",
    "tac": "reverse lines",
    "shuf": "shuffle random",
    "fold": "wrap width",
    "fmt": "wrap format",
    "column": "align table format",
    "tee": "write save",
    "seq": "number sequence range",
    "basename": "name suffix",
    "file": "type kind",
    "date": "date time",
    "bc": "calculate compute sum",
}
"""What people say for what a program does. Source: the programs' one-line descriptions (whatis), shortened."""

EXTENSION_WORD = "extensiontoken"
"""Stands for "some file extension" in texts and questions: a skill learned on html and txt is meant for md too."""

_EXTENSION = re.compile(r"(?<![\w/])[*]?\.([A-Za-z][A-Za-z0-9]{0,9})\b(?!/)|\b[\w*-]+\.([A-Za-z][A-Za-z0-9]{0,4})\b")
_EXTENSIONS = """
txt text md markdown html htm xml json yaml yml csv tsv log bak old orig tmp conf cfg ini py sh rb js ts c h cpp java go rs
jpg jpeg png gif bmp svg pdf ps doc docx xls xlsx odt zip gz bz2 xz tar tgz sql db sqlite css mp3 wav mp4
"""
_BARE_EXTENSIONS = frozenset(_EXTENSIONS.split())
_WORD = re.compile(r"[^\W_]+")


def words(text: str) -> Iterator[str]:
    """Lower-case words of a text: letters and digits, camelCase and snake_case taken apart."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    yield from (m.group().lower() for m in _WORD.finditer(spaced))


def mentions_extension(text: str) -> bool:
    """Whether a text names a file extension (``.md``, ``*.txt``, ``notes.md`` or a well-known bare one)."""
    return _EXTENSION.search(text) is not None or any(w in _BARE_EXTENSIONS for w in words(text))


def concepts(commands: Iterable[str]) -> str:
    """Words for what the programs in some commands do, each once."""
    found: dict[str, None] = {}
    for command in commands:
        for word in re.findall(r"[A-Za-z][A-Za-z0-9_]*", command):
            for meaning in _PROGRAM_WORDS.get(word, "").split():
                found.setdefault(meaning)
    return " ".join(found)


def texts(name: str, draft: Draft) -> tuple[str, str, str, str, str]:
    """The five columns of the index: name, description, parameters, tasks, concepts."""
    subject = parse_subject(draft.source, f"{name}/skill.py")
    parameters = " ".join(" ".join(words(f"{p.name} {p.description}")) for p in subject.parameters)
    tasks = " ".join(dict.fromkeys(t.task_description for t in draft.evidence))
    meanings = concepts(c for t in draft.evidence for c in t.commands)
    if mentions_extension(tasks) or mentions_extension(subject.description):
        meanings += f" {EXTENSION_WORD} extension suffix"
    return " ".join(words(name)), subject.description, parameters, tasks, meanings


def put(db: sqlite3.Connection, name: str, draft: Draft) -> None:
    """Within a transaction: (re-)indexes an active skill."""
    remove(db, name)
    row = db.execute("INSERT INTO skill_text VALUES (?, ?, ?, ?, ?, ?)", (name, *texts(name, draft))).lastrowid
    db.execute("INSERT INTO indexed VALUES (?, ?)", (name, row))


def remove(db: sqlite3.Connection, name: str) -> None:
    """Within a transaction: a skill is no longer found."""
    row = db.execute("SELECT rowid_of_text FROM indexed WHERE name = ?", (name,)).fetchone()
    if row is not None:
        db.execute("DELETE FROM skill_text WHERE rowid = ?", (row[0],))
        db.execute("DELETE FROM indexed WHERE name = ?", (name,))
