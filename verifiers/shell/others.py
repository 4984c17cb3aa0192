"""Text for other shells, known by what only they have: it is refused by name, not read as if it were bash."""

from __future__ import annotations

import re

from verifiers.shell.tree import ShellError

_START = r"(?:^|[|;{(=\n]|&&)\s*"
_VERBS = (
    "Add|Clear|Compare|Convert|ConvertFrom|ConvertTo|Copy|Export|ForEach|Format|Get|Import|Invoke|Join|Measure|Move|New|Out|Remove|"
    "Rename|Resolve|Select|Set|Sort|Split|Start|Stop|Test|Where|Write"
)
_POWERSHELL = re.compile(rf"{_START}(?:{_VERBS})-[A-Z][A-Za-z]+\b|\$env:\w+|{_START}\[[A-Z][\w.]+\]::\w+", re.MULTILINE)
_STAGES = (
    "where|each|par-each|get|select|reject|sort-by|group-by|update|upsert|insert|save|lines|flatten|transpose|first|last|"
    r"to (?:json|csv|yaml|toml|text|md|nuon)|from (?:json|csv|yaml|toml)|str (?:\w|-)+|into \w+|path \w+|math \w+|columns|length"
)
_NUSHELL = re.compile(
    rf"^\s*(?:ls|open|glob|ps|\$in|\$\w+|\[[^\]]*\])[^|;\n]*(?:\|\s*(?:{_STAGES})\b[^|;\n]*)+$"
    r"|(?:^|;)\s*(?:let|mut)\s+\w+\s*=\s|\{\s*\|\w+(?:,\s*\w+)*\|\s|^\s*def\s+[\w\"-]+\s+\[",
    re.MULTILINE,
)
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|<<-?\s*[\\'\"]?(\w+)['\"]?.*?^\s*\1$", re.DOTALL | re.MULTILINE)


def other_shell(text: str) -> str:
    """The name of the shell that a text is for, where it is no text for bash; "" else."""
    bare = _QUOTED.sub("Q", text)
    if _POWERSHELL.search(bare):
        return "PowerShell"
    return "Nushell" if _NUSHELL.search(bare) else ""


def refuse_others(text: str) -> None:
    """Raises ShellError for text of another shell, naming it."""
    name = other_shell(text)
    if name:
        way = "; nu runs it as it is" if name == "Nushell" else ""
        raise ShellError(f"{text[:60]!r} is {name}, which is not read here{way}")
