"""The words by which a skill is found, kept in the registry's own database: a skill is routable exactly while it is active."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator

from synth.interface import Draft
from synth.registry.vocabulary import PROGRAM_WORDS
from verifiers.subject import parse_subject

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
    return bool(extension_words(text))


def extension_words(text: str) -> frozenset[str]:
    """The extensions that a text names, in lower case and without the dot."""
    dotted = {(m[1] or m[2]).lower() for m in _EXTENSION.finditer(text)}
    return frozenset(dotted | {w for w in words(text) if w in _BARE_EXTENSIONS})


def concepts(commands: Iterable[str]) -> str:
    """Words for what the programs in some commands do, each once."""
    found: dict[str, None] = {}
    for command in commands:
        for word in re.findall(r"[A-Za-z][A-Za-z0-9_]*", command):
            for meaning in PROGRAM_WORDS.get(word, "").split():
                found.setdefault(meaning)
    return " ".join(found)


def texts(name: str, draft: Draft) -> tuple[str, str, str, str, str]:
    """The five columns of the index: name, description, parameters, tasks, concepts."""
    subject = parse_subject(draft.source, f"{name}/skill.py")
    parameters = " ".join(" ".join(words(f"{p.name} {p.description}")) for p in subject.parameters)
    told = " ".join(dict.fromkeys(t.task_description for t in draft.evidence))
    given = _words_of_values(draft)
    tasks = " ".join(w for w in words(told) if w not in given)
    meanings = concepts(c for t in draft.evidence for c in t.commands)
    if mentions_extension(told) or mentions_extension(subject.description):
        meanings += f" {EXTENSION_WORD}"
    return " ".join(words(name)), subject.description, parameters, tasks, meanings


def _words_of_values(draft: Draft) -> set[str]:
    """Words that one call was about (``hosts``, ``2023``), not the task: a question with other values is as good."""
    values = [v for args in draft.bindings.values() for v in args.values() if isinstance(v, str | int)]
    return {w for v in values for w in words(str(v))}


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
