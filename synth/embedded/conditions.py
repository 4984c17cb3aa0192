"""Tests (``[ … ]``, ``grep -q``) as Python conditions."""

from __future__ import annotations

from dataclasses import replace

from synth.embedded.code import quote
from synth.embedded.filters import option_codes, read, receiver, run_filter
from synth.embedded.scope import Scope, content
from synth.embedded.streams import stream
from verifiers.shell.commands import TABLE, parse_args
from verifiers.shell.tree import Command, Glob, Lit, Pipe, Seq, ShellError, Simple, Test, Word

SEARCHES = ("grep", "egrep", "fgrep")
_SHOWN = ("-n", "-H", "-h", "--line-number", "--with-filename", "--no-filename")
_FILE = {"-e": "exists()", "-f": "is_file()", "-d": "is_dir()", "-L": "is_symlink()", "-h": "is_symlink()"}


def condition(scope: Scope, node: Command, negated: bool) -> str | None:
    """A condition that holds where the command succeeds (fails, if ``negated``); None for a command that does more."""
    test: str | None = None
    if isinstance(node, Seq) and set(node.joins) <= {"&&"}:
        parts = [condition(scope, item, False) for item in node.items]
        test = None if None in parts else " and ".join(filter(None, parts))
    elif isinstance(node, Test):
        test = _test(scope, list(node.words), double=node.double)
    elif isinstance(node, Simple) and node.name == "test":
        test = _test(scope, list(node.words[1:]))
    elif isinstance(node, Simple) and node.name in SEARCHES:
        test = _grep(scope, node)
    if test is None and isinstance(node, Simple | Pipe):
        test = _status(scope, node)
    if test is None:
        return None
    return f"not ({test})" if negated and " " in test else f"not {test}" if negated else test


def quietly(node: Command) -> Command:
    """The same check, which prints nothing."""
    if not isinstance(node, Simple) or node.name not in SEARCHES:
        return node
    shown = [w for w in node.words[1:] if w.literal not in _SHOWN]
    return replace(node, words=(node.words[0], Word((Lit("-q"),)), *shown))


def _status(scope: Scope, node: Simple | Pipe) -> str | None:
    """The exit status of a filter that is run for nothing else."""
    last = node.stages[-1] if isinstance(node, Pipe) else node
    spec = TABLE.get(last.name) if isinstance(last, Simple) else None
    if not isinstance(last, Simple) or spec is None or spec.kind != "filter":
        return None
    unseen = any(r.fd == 1 and r.target.literal == "/dev/null" for r in last.redirects)
    if not unseen and not parse_args(spec, last.words[1:]).has("-q", "-s", "--quiet", "--silent", "--brief"):
        return None
    given = stream(scope, Pipe(node.stages[:-1])) if isinstance(node, Pipe) else None
    return run_filter(scope, last.name, replace(spec, helper="_holds", no_match=0), last.words[1:], given).code


def _test(scope: Scope, words: list[Word], *, double: bool = False) -> str:
    """``double``: of ``[[ … ]]``, where a pattern is one of texts; elsewhere the shell puts names of files in its place."""
    texts = [w.literal for w in words]
    if texts and texts[0] == "!":
        return f"not ({_test(scope, words[1:], double=double)})"
    if len(words) == 2 and texts[0] in _FILE:
        return f"{receiver(scope.path(words[1]))}.{_FILE[texts[0] or '']}"
    if len(words) == 2 and texts[0] == "-s":
        path = receiver(scope.path(words[1]))
        return f"({path}.exists() and {path}.stat().st_size > 0)"
    if len(words) == 2 and texts[0] in ("-n", "-z"):
        return f"{scope.text(words[1])} {'!=' if texts[0] == '-n' else '=='} {quote('')}"
    if any(w.has_glob for w in words) and not (double and len(words) == 3 and not words[0].has_glob):
        raise ShellError("a pattern in a test is not understood")
    if len(words) == 3 and texts[1] in ("=", "==", "!=") and words[2].has_glob:
        return f"{'not ' if texts[1] == '!=' else ''}{_like(scope, words[0], words[2])}"
    if len(words) == 3 and texts[1] in ("=", "==", "!="):
        return f"{scope.text(words[0])} {'!=' if texts[1] == '!=' else '=='} {scope.text(words[2])}"
    raise ShellError("this test is not understood")


def _like(scope: Scope, word: Word, pattern: Word) -> str:
    """Whether a text is like ``begin*`` or ``*end``."""
    first, last = pattern.parts[0], pattern.parts[-1]
    for glob, rest, method in ((last, pattern.parts[:-1], "startswith"), (first, pattern.parts[1:], "endswith")):
        if glob == Glob("*") and rest and not Word(rest).has_glob:
            return f"{receiver(scope.text(word))}.{method}({scope.text(Word(rest))})"
    raise ShellError("a pattern in a test is not understood")


def _grep(scope: Scope, node: Simple) -> str | None:
    parsed = parse_args(TABLE["grep"], node.words[1:])
    if not parsed.has("-q", "--quiet") or len(parsed.operands) != 2:
        return None
    kept = type(parsed)(tuple((n, v) for n, v in parsed.options if n not in ("-q", "--quiet")), ())
    pattern, file = parsed.operands
    argv = ", ".join([quote(node.name), *option_codes(scope, kept), quote("--"), scope.text(pattern)])
    path = receiver(scope.path(file))
    given = content(read(scope, file))
    may_miss = ".read_bytes()" in given and scope.facts.creates
    source = f'{given} if {path}.exists() else b""' if may_miss else given
    return f"{scope.code.helper('_run')}([{argv}], {source}, accepted=1)"
