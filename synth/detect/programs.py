"""What stays of a small program written as one shell word (sed, awk, jq, SQL …) when its data is taken out.

``s/^123_//`` and ``s/^IMG_//`` have one shape, ``s/\\s+/_/g`` has another: without this, three kinds of ``rename`` would be
one task.
"""

from __future__ import annotations

import re

REGEX = frozenset({"sed", "gsed", "grep", "egrep", "fgrep", "rename", "prename", "perl-rename", "rg", "expr"})
_CODE = "awk gawk mawk nawk jq yq sqlite3 perl python python3 ruby node bc dc mysql psql"
CODE = frozenset(_CODE.split())
SETS = frozenset({"tr"})

_AWK = """begin end nr nf fs ofs rs ors fnr filename print printf length substr split gsub sub match toupper tolower sprintf int
sqrt if else for while in do next exit getline function return delete"""
_JQ = """keys values map select add sort sort_by group_by unique unique_by min max min_by max_by to_entries from_entries
with_entries tostring tonumber join test ascii_downcase ascii_upcase flatten reverse first last any all not and or if then else
elif end empty input inputs length"""
_SQL = """select from where group by order limit count sum avg min max distinct insert into values update set create table drop
alter join left inner on as desc asc having union like is null between and or not in delete"""
_GENERAL = """import from as def class lambda try except with open read write sys os re json len str sorted reversed range
enumerate zip float int sum min max print for in if else not and or return while end begin puts"""
_VOCABULARY = {
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), frozenset(_AWK.split())),
    **dict.fromkeys(("jq", "yq"), frozenset(_JQ.split())),
    "sqlite3": frozenset(_SQL.split()),
}
_OTHER = frozenset(_GENERAL.split())
_ESCAPE_CLASS = frozenset("sSwWdDbBnrtf0123456789<>")
_PLAIN_RUN = re.compile(r"(?:[^\W]|[ ,:@=_\-~%#!;/<>\"'`]|\.(?![*+?{]))+")
_ADDRESS = r"(?:\d+|\$|/(?:[^/\\]|\\.)*/)?"
_SUBSTITUTION = re.compile(rf"({_ADDRESS}(?:,{_ADDRESS})?!?)\s*([sy])([^\w\s])(.*)\3(.*)\3(\w*)", re.DOTALL)
LONG = 2000
"""Characters of a script that is told by its beginning: reading it takes time that grows with the square of its length."""
_TEXT = re.compile(rf"({_ADDRESS}(?:,{_ADDRESS})?!?)\s*([aic])[\\\s].*", re.DOTALL)
"""A sed command that adds lines: what it adds is data."""
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")


def program_shape(command: str, text: str) -> str:
    """The shape of ``text`` as ``command`` reads it."""
    if command in SETS:
        return text if re.search(r"[\[\\]|.-.", text) else "W"
    if command in REGEX:
        return _substitution(text) if command.endswith(("sed", "rename")) else _regex(text)
    return _code(text, _VOCABULARY.get(command, _OTHER))


def _substitution(script: str) -> str:
    """A sed or Perl script: operator and flags as they are, pattern and replacement as shapes."""
    if len(script) > LONG:
        return _NUMBER.sub("N", script[:80])
    found = _SUBSTITUTION.fullmatch(script)
    if found:
        address, operator, _, pattern, replacement, flags = found.groups()
        if operator == "y":
            return f"y/{pattern}/{replacement}/"
        return f"{_address(address)}s/{_regex(pattern)}/{_replacement(replacement)}/{flags}"
    found = _TEXT.fullmatch(script)
    if found:
        return f"{_NUMBER.sub('N', _address(found[1]))}{found[2]} W"
    found = re.fullmatch(r"(/.*/)(!?[a-zA-Z].*)", script, re.DOTALL)
    if found:
        return _regex(found[1]) + found[2][:2]
    return _NUMBER.sub("N", script)[:80]


def _address(text: str) -> str:
    """Which lines: numbers as numbers, patterns as shapes."""
    return "".join("/" + _regex(p[1:-1]) + "/" if p[0] == "/" else p for p in re.findall(r"/(?:[^/\\]|\\.)*/|[^/]+", text))


def _replacement(text: str) -> str:
    """References to what was found stay; all else is data."""
    found: list[str] = re.findall(r"\\[1-9ULEul]|(?<!\\)&", text)
    return "".join(found) if found and re.fullmatch(r"(?:\\[1-9ULEul]|&)+", text) else "W" + "W".join(found)


def _regex(pattern: str) -> str:
    """Operators, classes and brackets stay; runs of plain characters become ``W``."""
    out: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\" and at + 1 < len(pattern):
            out.append(pattern[at : at + 2] if pattern[at + 1] in _ESCAPE_CLASS else "W")
            at += 2
        elif char == "[" and (end := pattern.find("]", at + 2)) > 0:
            out.append(pattern[at : end + 1])
            at = end + 1
        elif run := _PLAIN_RUN.match(pattern, at):
            out.append("W")
            at = run.end()
        else:
            out.append(char)
            at += 1
    return re.sub("W+", "W", "".join(out))


def _code(text: str, vocabulary: frozenset[str]) -> str:
    """Keywords and punctuation stay; other names, numbers and strings go."""
    bare = _QUOTED.sub("Q", text)
    bare = _IDENTIFIER.sub(lambda m: m[0].lower() if m[0].lower() in vocabulary else "w", bare)
    return re.sub(r"\s+", "", _NUMBER.sub("N", bare))
