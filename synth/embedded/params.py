"""Parameters from holes: a name, a type, a description."""

from __future__ import annotations

import builtins
import keyword
import re
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from synth.detect.features import singular
from synth.embedded.forms import BEFORE_PLACE, FORMS, form_of
from synth.embedded.literals import is_known
from synth.embedded.places import Context, contexts
from synth.embedded.pythoncode import NAMES
from synth.embedded.scope import Param
from synth.embedded.template import Template, Value

_FROM_THE_END = {
    ("head", "-"): ("kept", "How many of the last lines are left out"),
    ("tail", "+"): ("first_line", "Number of the first line, from 1"),
}
_BY_OPTION = {
    ("cut", "-d"): ("delimiter", "Field delimiter"),
    ("cut", "-f"): ("fields", "Fields, such as 1,3 or 2-4"),
    ("cut", "-c"): ("columns", "Character positions, such as 1-10"),
    ("awk", "-F"): ("delimiter", "Field delimiter"),
    ("sort", "-t"): ("delimiter", "Field delimiter"),
    ("split", "-l"): ("lines", "Number of lines in a piece"),
    ("head", "-n"): ("lines", "Number of lines"),
    ("tail", "-n"): ("lines", "Number of lines"),
    ("find", "-name"): ("pattern", "Shell pattern for the name, such as *.txt"),
    ("find", "-iname"): ("pattern", "Shell pattern for the name, upper and lower case alike"),
    ("find", "-path"): ("pattern", "Shell pattern for the path"),
    ("find", "-maxdepth"): ("depth", "How many levels deep to look"),
    ("find", "-size"): ("size", "Size in the notation of find"),
    ("mv", "-t"): ("destination", "Folder to move to"),
    ("cp", "-t"): ("destination", "Folder to copy to"),
    ("chmod", "-type d"): ("dir_mode", "Octal mode of the directories, such as 755"),
    ("chmod", "-type f"): ("file_mode", "Octal mode of the files, such as 644"),
    ("tar", "-C"): ("folder", "Folder whose content is packed"),
    ("tar", "--directory"): ("folder", "Folder whose content is packed"),
    ("tar", "-f"): ("archive", "Archive file, relative to the workspace"),
}

_LOOKED_FOR = ("text", "Text to look for")
_READ = ("file", "File to read, relative to the workspace")
_BY_COMMAND = {
    "chmod": ("mode", "Octal mode, such as 644"),
    "mkdir": ("folder", "Directory to make, relative to the workspace"),
    "touch": ("filename", "Name of the file to make"),
    "seq": ("count", "Last number of the series"),
    "cd": ("folder", "Directory to work in"),
    "ln": ("target", "What the link points to"),
    "rm": ("path", "Path to remove, relative to the workspace"),
    "mv": ("source", "Path to move, relative to the workspace"),
    "cp": ("source", "Path to copy, relative to the workspace"),
    "echo": ("line", "Line of text, exactly as it is to be written"),
    "printf": ("text", "Text to be written"),
    "tee": ("file", "File to write, relative to the workspace"),
    ">": ("output_file", "File to write, relative to the workspace"),
    ">>": ("output_file", "File to append to, relative to the workspace"),
    "grep": _LOOKED_FOR,
    "jq": ("key", "Key in the JSON document"),
    "for": ("name", "Name to work on"),
    "find": ("root", "Directory to start from, relative to the workspace"),
    "ls": ("folder", "Directory to list, relative to the workspace"),
}

_LAST = {
    "mv": ("destination", "Where to move to, relative to the workspace"),
    "cp": ("destination", "Where to copy to, relative to the workspace"),
    "ln": ("link", "Path of the link, relative to the workspace"),
    "split": ("prefix", "Beginning of the pieces' names"),
}


_SUBSTITUTE = re.compile(r"(?:/(?:\\.|[^/\\])*/[!, ]*|[\d$,!\s;{}]|[dpq](?=\s*[;}\n]))*(?:s|y|tr)([^\w\s])", re.DOTALL)
"""Addresses and short commands, then the beginning of a substitution."""
_IN_SCRIPT = {
    "pattern": ("old", "Text to replace"),
    "sought": _LOOKED_FOR,
    "replacement": ("new", "Text to put in its place"),
    "address": ("text", "Text of the lines to work on"),
    "text": ("new", "Text to put in"),
}


def place_in_script(lead: str) -> str:
    """Where in a script of sed or rename a value stands that ``lead`` comes before: a key of ``_IN_SCRIPT``."""
    found = _SUBSTITUTE.match(lead)
    if found is None:
        return "address" if re.fullmatch(r"[\s;{]*/(\\.|[^/\\])*", lead, re.DOTALL) else "text"
    parts = re.split(rf"(?<!\\)(?:\\\\)*{re.escape(found[1])}", lead[found.end() :], maxsplit=2)
    if len(parts) < 3:
        return "pattern" if len(parts) == 1 else "replacement"
    return place_in_script(re.sub(r"^\w*", "", parts[2]))


def _place(at: Context) -> str:
    """As ``place_in_script``; what is printed or put back is looked for, and not replaced."""
    place = place_in_script(at.lead)
    return "sought" if place == "pattern" and re.search(r"&|/p$", at.after) else place


def _counts(at: Context) -> bool:
    """Whether a script takes what stands there for a number: not within quotes, a pattern or a word, nor as text to put in."""
    if at.role != "script" or not is_known(at.command):
        return False
    if at.command in _READING:
        text = place_in_script(at.lead) != "text" or bool(re.search(r"[aic]\s*\\?\s*$", at.lead))
    else:
        text = any(at.lead.count(sign) % 2 for sign in "\"'/")
    return not text and bool(re.search(r"(^|[\s;{,(=<>+*%!&|\[~-])$", at.lead))


_PRINTING = frozenset({"echo", "printf"})
_READING = frozenset({"grep", "sed", "rename"})
_RENAMING = frozenset({"rename", "prename", "file-rename"})
_COLUMN = ("column", "Number of the column, from 1")
_COMPARED = ("value", "Value to compare with")
_GIVEN = ("value", "Value that the program works with")
_IN_PATH = ("folder", "Name of the folder in the path")
_PATHS = frozenset({"file", "output_file", "path", "source", "destination", "folder"})
"""Names for what is a whole path."""


def _choose(at: Context, values: tuple[Value, ...]) -> tuple[str, str]:
    by_form = form_of(values)
    form = by_form[0] if by_form is not None else ""
    if isinstance(values[0], tuple):
        return ("paths", "Paths, relative to the workspace")
    names = at.role in ("pattern", "glued", "operand") or (at.role == "script" and at.command in _RENAMING)
    if names and at.before.endswith(".") and not at.after[:1].isalnum():
        return ("ext", "File name extension, without the dot")
    if at.command == "grep" and at.before.endswith("\\.") and at.after == "$":
        return ("ext", "File name extension, without the dot")
    if names and at.after.startswith("*") and re.search(r"(^|/)$", at.lead):
        return ("prefix", "Beginning of the names" + (", with the directory" if any("/" in v for v in values) else ""))
    if named := re.fullmatch(r"--([a-z][a-z-]+)=", at.lead):
        return (_usable(named[1].replace("-", "_"), "value"), f"Value of --{named[1]}")
    if at.command in NAMES or (at.command == "jq" and at.role == "text"):
        return _GIVEN
    if at.command in ("awk", "gawk") and at.before.endswith("$"):
        return _COLUMN
    if at.role == "script" and re.search(r"([=!]=|[<>~]=?)\s*[\"/]?$", at.before) and at.command not in _READING:
        return _COMPARED
    if at.command == "jq" and at.role == "script" and re.search(r"=\s*\"$", at.before) and form != "version":
        return ("value", "Value to put in")
    if at.command == "jq" and at.role == "script" and re.search(r"\.\"?$", at.before):
        return ("field", "Name of the field in the JSON document")
    if at.command == "sed" and at.role == "script" and re.match(r"[dpq,]", at.after) and at.before in ("", "1,"):
        return ("line_number", "Number of the line, from 1")
    if at.command in ("sed", "grep") and at.role == "script" and at.before.endswith(("/", "^")) and at.after.startswith("/d"):
        return ("text", "Text of the lines to delete")
    if at.command in ("sed", "perl", *_RENAMING) and at.role == "script":
        if at.command != "sed" and at.before.endswith("^"):
            return ("prefix", "Beginning of the name")
        return _IN_SCRIPT[_place(at)]
    if by_form is not None and form in BEFORE_PLACE:
        return by_form
    if at.role == "key" or ((at.command, at.option) == ("cut", "-f") and all(re.fullmatch(r"\d+", str(v)) for v in values)):
        return _COLUMN
    if at.role == "format":
        return ("width", "Number of digits") if "%" in at.before else ("prefix", "Beginning of the names, with the directory")
    if (at.command, at.before) in _FROM_THE_END:
        return _FROM_THE_END[(at.command, at.before)]
    if (at.command, at.option) == ("find", "-name") and not re.search(r"[*?\[]", "".join((at.lead, *map(str, values), at.after))):
        return ("name", "Name of a file or folder")
    if (at.command, at.option) == ("head", "-n") and at.last and not at.before:
        return ("count", "How many of them, from the top")
    if (at.command, at.option) in _BY_OPTION:
        return _BY_OPTION[(at.command, at.option)]
    if at.command == "tar" and re.fullmatch(r"-?[A-Za-z]*f", at.option) and not at.before and not at.after:
        return _BY_OPTION[("tar", "-f")]
    if at.command in (">", ">>") and at.after.startswith("/"):
        return _IN_PATH
    if at.command in ("mv", "cp", "rename") and at.name_after:
        return ("prefix", "Text to put in front of the name")
    if at.command in ("mv", "cp") and at.last and re.search(r"\0[^/]*$", at.lead):
        return ("suffix", "Text to put behind the name")
    if at.command == "for" and at.after.startswith("/"):
        return ("folder", "Directory, relative to the workspace")
    if at.last and at.command in _LAST and not (at.after and at.command in ("cp", "mv") and "*" in at.after):
        return _LAST[at.command]
    if at.role == "operand" and at.command in ("grep", "jq"):
        return _READ
    if at.command == "echo" and (at.before or at.after):
        return _BY_COMMAND["printf"]  # a part of a line is no line
    if at.command in _BY_COMMAND:
        return _BY_COMMAND[at.command]
    if at.role == "number":
        return ("number", f"Number for {at.option} of {at.command}" if at.option else "Number")
    if at.role == "script" or not at.command:
        return _GIVEN
    return _GIVEN if at.role in ("pattern", "text") else _READ


_FOLDER = ("folder", "Directory, relative to the workspace")
_FILE = ("file", "File to work on, relative to the workspace")


def _usable(name: str, otherwise: str) -> str:
    """The name, unless Python or the skill's own code means something by it."""
    means = keyword.iskeyword(name) or hasattr(builtins, name) or name in sys.stdlib_module_names | _OWN
    return name if name.isidentifier() and not means else otherwise


_MARKS = frozenset({"begin", "start", "end"})
"""They stand before a name, and are none for it."""


def _label(at: Context) -> str:
    """What a line of text calls the value in it: ``port`` of ``port: 80``; "" for nothing."""
    found = re.search(r"(?:^|[\s\"'^/])([A-Za-z][A-Za-z_-]{1,15})[\"']?\s*[:= ]\s*[\"']?/?$|\.(\w{2,16})\s*==\s*\"$", at.before)
    label = (found[1] or found[2]).lower().replace("-", "_") if found else ""
    return "" if label in _MARKS else label


_OWN = frozenset({"changed", "output", "answer", "shell"})
_VAGUE = frozenset({"file", "value", "text", "pattern"})


def make_params(
    template: Template,
    folders: Collection[int] = (),
    said: Mapping[int, str] | None = None,
    files: Collection[int] = (),
    written: Collection[int] = (),
) -> list[Param]:
    """One parameter a hole, in the holes' order, names unique.

    Args:
        folders: holes whose values name directories in every trace.
        said: holes whose values name nothing that is there, with what the requests call them ("" for nothing).
        files: holes whose values name files in every trace.
        written: holes whose values name files that every trace makes or changes.
    """
    first: dict[int, Context] = {}
    printed: set[int] = set()
    number: set[int] = set()
    places: dict[int, set[str]] = {}
    for index, at in contexts(template.program):
        if at.role == "script" and at.command == "sed":
            places.setdefault(index, set()).add(_place(at))
        if at.command in _PRINTING:
            printed.add(index)
        # What is looked for or replaced says more of a value than that it is printed too.
        if index not in first or (first[index].command in _PRINTING and at.command not in _PRINTING and at.command in _READING):
            first[index] = at
        if at.role in ("number", "key") or _counts(at) or (at.role == "format" and at.before.endswith(("%", "%0"))):
            number.add(index)
    chosen = [_choose(first.get(k, Context("", "operand", "", "", "", False)), v) for k, v in enumerate(template.values)]
    both = {_LOOKED_FOR: ("text", "Text to look for, and to put in")}
    chosen = [both.get(c, c) if k in printed else c for k, c in enumerate(chosen)]
    chosen = [_of_file(c, k in files) if k in written else c for k, c in enumerate(chosen)]
    for k, found in places.items():
        if found >= {"pattern", "replacement"}:  # it is looked for and put in again
            named = all(re.match(r"[^\W\d]", str(v)) for v in template.values[k])
            # A version's number that stays is not the name of anything.
            chosen[k] = ("key", "Name of what is set") if named else ("kept", "Text to look for, which stays as it is")
        elif found == {"pattern"} and chosen[k] == _LOOKED_FOR:
            chosen[k] = _IN_SCRIPT["pattern"]
    _name_by_form(chosen, template.values)
    labels = {k: _label(first[k]) for k in (said or {}) if k in first}
    _name_the_absent(chosen, {k: labels.get(k) or word for k, word in (said or {}).items()}, first, template.values)
    _name_the_exchanged(chosen, {k: labels.get(k) or word for k, word in (said or {}).items()})
    chosen = [_FOLDER if k in folders and c[0] in ("file", "source", "path", "value") else c for k, c in enumerate(chosen)]
    there = {k: _FILE if k in written else _READ for k in files}
    # A name that is there is a file's, also where it looks like a version.
    chosen = _distinct([there[k] if k in there and (c[0] == "value" or c in FORMS.values()) else c for k, c in enumerate(chosen)])
    out: list[Param] = []
    for k, values in enumerate(template.values):
        kind = "list[str]" if isinstance(values[0], tuple) else "str"
        if k in number and all(isinstance(v, str) and v.isdecimal() and (v == "0" or v[0] != "0") for v in values):
            kind = "int"
        typed = tuple(int(v) if kind == "int" and isinstance(v, str) else list(v) if isinstance(v, tuple) else v for v in values)
        out.append(Param(chosen[k][0], kind, typed, chosen[k][1]))
    return out


def _of_file(chosen: tuple[str, str], there: bool) -> tuple[str, str]:
    """What a file that every trace makes or changes is, where its place says less."""
    if there:
        return _FILE if chosen in (_READ, _BY_COMMAND["cp"]) else chosen
    return _BY_COMMAND[">"] if chosen[0] in _VAGUE else chosen


def _name_the_absent(
    chosen: list[tuple[str, str]],
    said: Mapping[int, str],
    first: Mapping[int, Context],
    values: Sequence[tuple[Value, ...]],
) -> None:
    """Values that name nothing that is there are called as the requests call them. A piece of a path is no path."""
    pieces = {k for k in said if k in first and (first[k].before or first[k].after)}
    pieces = {k for k in pieces if chosen[k][0] in _PATHS and chosen[k] != _IN_PATH}
    moved = {chosen[k][0]: k for k in pieces}
    if {"source", "destination"} <= moved.keys():
        chosen[moved["source"]], chosen[moved["destination"]] = _IN_SCRIPT["pattern"], _IN_SCRIPT["replacement"]
    for k, word in said.items():
        if (chosen[k][0] in _VAGUE and (word or chosen[k][0] == "file")) or (k in pieces and chosen[k][0] in _PATHS):
            name = _usable(word or _one_of(first.get(k)), "folder" if chosen[k][0] == "folder" else "name")
            form = None if word else form_of(values[k])
            kept = chosen[k][1] if name == chosen[k][0] else "The name"
            chosen[k] = form or (name, f"The {name}" if word else _in_its_place(first.get(k)) or kept)


def _one_of(at: Context | None) -> str:
    """What a folder holds many of, where the name begins in it: ``log`` in ``logs``."""
    folder = re.search(r"(?:^|/)([a-z]{3,})/$", at.lead) if at is not None else None
    return singular(folder[1]) if folder is not None and singular(folder[1]) != folder[1] else ""


def _in_its_place(at: Context | None) -> str:
    """What nobody has a word for, by what stands around it; "" where that says nothing."""
    around = f"{at.lead}*{at.after}".replace("\0", "…") if at is not None else "*"
    return f"What stands for * in {around}" if re.fullmatch(r"(?=.*\w)[\w./*…\-]{2,40}", around) else ""


_ABOUT_A_PROGRAM = re.compile(r"that the program works with|of the lines to work on")
"""Descriptions that say what the recorded commands do with a value, for want of a word for it."""


def renamed(param: Param, word: str) -> Param:
    """The parameter under a word of the requests, which its description says too."""
    name = _usable(word, param.name)
    if name == param.name:
        return param
    if _ABOUT_A_PROGRAM.search(param.description):
        return replace(param, name=name, description=f"The {word.replace('_', ' ')}")
    noun = re.compile(r"\b(?:(?:first|second|third|fourth|fifth|sixth) )?(?:text|value|name|number)\b", re.IGNORECASE)
    text = noun.sub(lambda m: word if m.start() else word.capitalize(), param.description, count=1)
    return replace(param, name=name, description=text)


def _name_by_form(chosen: list[tuple[str, str]], values: Sequence[tuple[Value, ...]]) -> None:
    """What has a vague name, or one of several alike, is called as its form says: a version, a date."""
    counts = Counter(chosen)
    for k, column in enumerate(values):
        form = form_of(column)
        if form is not None and (counts[chosen[k]] > 1 or chosen[k][0] in _VAGUE - {"file"}):
            chosen[k] = form


def _name_the_exchanged(chosen: list[tuple[str, str]], said: Mapping[int, str]) -> None:
    """``old`` and ``new`` say what is exchanged: the version, the host; a text, where the requests have no word for it."""
    at = {name: k for k, (name, _) in enumerate(chosen) if name in ("old", "new")}
    if len(at) != sum(name in at for name, _ in chosen) or not all(k in said for k in at.values()):
        return
    word = next((said[k] for k in at.values() if said[k]), "").removeprefix("old_").removeprefix("new_")
    if len(at) == 2:
        chosen[at["old"]] = (f"old_{word or 'text'}", f"The {word or 'text'} to replace")
        chosen[at["new"]] = (f"new_{word or 'text'}", f"The {word or 'text'} to put in its place")
    elif "new" in at:
        otherwise = "value" if any(name == "key" for name, _ in chosen) else "text"
        chosen[at["new"]] = (_usable(word, otherwise), f"The {word or otherwise} to put in")


_PAIRS = {
    "ext": (("old_ext", "Extension to replace, without the dot"), ("new_ext", "New extension, without the dot")),
    "file": (_READ, ("other_file", "Other file to read")),
    "folder": (("folder", "First directory, relative to the workspace"), ("other_folder", "Second directory")),
}


def _distinct(chosen: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Names without repetition; of those that are described alike the texts say which one, the first one too."""
    counts = Counter(name for name, _ in chosen)
    alike = Counter(chosen)
    seen: Counter[str] = Counter()
    told: Counter[tuple[str, str]] = Counter()
    out: list[tuple[str, str]] = []
    for name, text in chosen:
        k = seen[name]
        seen[name] += 1
        told[name, text] += 1
        if counts[name] == 2 and name in _PAIRS:
            out.append(_PAIRS[name][k])
        else:
            which = _which(name, text, told[name, text]) if alike[name, text] > 1 else text
            out.append((name if k == 0 else f"{name}{k + 1}", which))
    return out


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


def _which(name: str, text: str, number: int) -> str:
    """The text for one of several: "Name of the second field", "Second date"."""
    noun = re.search(rf"\b(?:{name.rpartition('_')[2]}|text|value)\b", text, re.IGNORECASE)
    if number > len(_ORDINALS) or noun is None:
        return f"{text} ({number})"
    said = f"{_ORDINALS[number - 1]} {noun[0].lower()}"
    return f"{text[: noun.start()]}{said if noun.start() else said.capitalize()}{text[noun.end() :]}"
