"""Which programs shell commands and command lines name, those that other programs are told to start included. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from verifiers.conventions.shell_text import SHELLS
from verifiers.shell.commands import inner_commands
from verifiers.shell.script import parse_script

_BUILTINS = (
    ". : [ [[ alias bg bind break builtin caller case cd command compgen complete continue declare dirs disown echo enable eval "
    "exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd read "
    "readarray readonly return set shift shopt source test times trap true type typeset ulimit umask unalias unset wait"
)
BUILTINS = frozenset(_BUILTINS.split())
"""Of bash and dash."""

_NAMING = frozenset({"type", "which", "hash"})
"""Programs that only name another one."""
_FUNCTION = re.compile(r"(?:^|[\s;&|{(])(?:function\s+)?([A-Za-z_][\w-]*)\s*\(\s*\)")


def named(commands: Iterable[str]) -> frozenset[str]:
    """Names (without directories) of all programs that shell commands start, without builtins and the commands' own functions."""
    script = tuple(commands)
    own = {name for text in script for name in _FUNCTION.findall(text)}
    lines: dict[tuple[int, int], list[str]] = {}
    found: set[str] = set()
    for word in parse_script(script).words:
        place = (word.step, word.call)
        if word.slot == "name":
            found.update(_line(lines.pop(place, ())))
            lines[place] = [word.text]
        elif word.call >= 0 and place in lines:
            lines[place].append(word.text)
    for words in lines.values():
        found.update(_line(words))
    return frozenset(found - own - BUILTINS - {""})


def started(words: Sequence[str]) -> frozenset[str]:
    """Names of the programs that one command line starts: its own, and those that it is told to start."""
    return frozenset(_line(words))


def _line(words: Sequence[str]) -> Iterator[str]:
    if not words:
        return
    name = words[0].rpartition("/")[2]
    yield name
    if name in SHELLS:
        yield from named(_text_of_shell(words[1:]))
    for start, end in inner_commands("command" if name in _NAMING else name, words[1:]):
        yield from _line(words[1 + start : 1 + end])


def _text_of_shell(words: Sequence[str]) -> list[str]:
    """What a shell is told to run by ``-c``: the words behind it are data, whatever they look like."""
    return [text for option, text in pairwise(words) if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", option)][:1]
