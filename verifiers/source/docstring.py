"""Reads a skill's docstring (or the decorator's description): summary, sections, one note per parameter."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

SECTIONS = ("Args", "Returns", "Raises", "Example", "Examples", "Note", "Notes", "Yields")

_HEAD = re.compile(r"^(Args|Arguments|Parameters|Returns?|Raises|Examples?|Notes?|Yields)\s*:\s*(.*)$")
_BULLET = re.compile(r"^[-*]\s+`?(?P<name>\*{0,2}[A-Za-z_]\w*)`?\s*(?:\((?P<type>[^()]*)\))?\s*:\s*(?P<text>.*)$")
_GOOGLE = re.compile(r"^`?(?P<name>\*{0,2}[A-Za-z_]\w*)`?\s*(?:\((?P<type>[^()]*)\))?\s*:\s*(?P<text>.*)$")
_SPHINX = re.compile(r"^:param\s+(?:[\w\[\], .|]+\s+)?(?P<name>[A-Za-z_]\w*)\s*:\s*(?P<text>.*)$")
_CANONICAL = {"Arguments": "Args", "Parameters": "Args", "Return": "Returns", "Examples": "Example", "Note": "Notes"}


@dataclass(frozen=True, slots=True)
class Docstring:
    """What a docstring says."""

    summary: str = ""
    """The first paragraph, on one line."""
    sections: frozenset[str] = frozenset()
    """Section names that are there, canonical: ``Args``, ``Returns``, ``Raises``, ``Example``."""
    notes: dict[str, str] = field(default_factory=dict)
    """Parameter name -> its description (may be empty). Bullets count wherever they stand."""
    listed: frozenset[str] = frozenset()
    """The names among them that stand under Args."""

    def merged(self, other: Docstring) -> Docstring:
        """Both together; where both speak, this one counts."""
        notes = {**other.notes, **self.notes}
        return Docstring(self.summary or other.summary, self.sections | other.sections, notes, self.listed | other.listed)


def parse_docstring(text: str) -> Docstring:
    """What ``text`` says, in Google, bullet (``- name: Type = default - text``) or Sphinx style. Never raises."""
    lines = inspect.cleandoc(text).splitlines()
    listed, loose = _notes(lines)
    return Docstring(_summary(lines), _sections(lines), {**loose, **listed}, frozenset(listed))


def _summary(lines: list[str]) -> str:
    out: list[str] = []
    for line in lines:
        if not line.strip() or _HEAD.match(line.strip()) or _SPHINX.match(line.strip()):
            break
        out.append(line.strip())
    return " ".join(out)


def _sections(lines: list[str]) -> frozenset[str]:
    found = {_canonical(m.group(1)) for line in lines if (m := _HEAD.match(line.strip()))}
    if any(_SPHINX.match(line.strip()) for line in lines):
        found.add("Args")
    if any(line.strip().startswith((":return:", ":returns:")) for line in lines):
        found.add("Returns")
    return frozenset(found)


def _canonical(name: str) -> str:
    return _CANONICAL.get(name, name)


def _notes(lines: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Notes under Args, and bullets elsewhere: real descriptions list parameters without an ``Args:`` line, too."""
    listed: dict[str, str] = {}
    loose: dict[str, str] = {}
    section, entry_indent, current = "", -1, ""
    for raw in lines:
        line = raw.strip()
        indent = len(raw) - len(raw.lstrip())
        if not line:
            continue
        if head := _HEAD.match(line):
            section, current, entry_indent = _canonical(head.group(1)), "", -1
        elif section == "Args" and current and indent > entry_indent >= 0 and not _SPHINX.match(line):
            listed[current] = f"{listed[current]} {line}".strip()
        elif entry := _entry(line, section):
            name, text = entry
            into = listed if section == "Args" or line.startswith(":") else loose
            into[name] = text
            current, entry_indent = (name, indent) if section == "Args" else ("", -1)
        else:
            current = ""
    return listed, loose


def _entry(line: str, section: str) -> tuple[str, str] | None:
    """Name and text of a line that describes a parameter."""
    if found := _SPHINX.match(line):
        return found.group("name"), found.group("text").strip()
    if found := _BULLET.match(line):
        return found.group("name").lstrip("*"), _bullet_text(found.group("text"))
    if section == "Args" and (found := _GOOGLE.match(line)):
        return found.group("name").lstrip("*"), found.group("text").strip()
    return None


def _bullet_text(text: str) -> str:
    """The part after the last `` - `` (``str = "a" - the text`` -> ``the text``)."""
    return text.rpartition(" - ")[2].strip()
