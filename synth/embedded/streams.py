"""Pipelines as Python: what a command prints, as a bytes expression, or as a list of paths while that lasts."""

from __future__ import annotations

from synth.embedded.filters import Data, Stream, as_bytes, data, encoded, named, numbers, read, run_filter, run_plain, with_ends
from synth.embedded.scope import Content, Items, Scope
from synth.embedded.sources import SPECIAL
from verifiers.shell.commands import TABLE
from verifiers.shell.tree import Command, For, Group, Pipe, Redirect, Seq, ShellError, Simple, While


def stream(scope: Scope, node: Command, given: Stream | None = None) -> Stream:
    """What a command prints, redirections to files excluded.

    Raises:
        ShellError: a command without a meaning as a stream.
    """
    if isinstance(node, Pipe):
        current = given
        for stage in node.stages:
            current = stream(scope, stage, current)
            if isinstance(current, Items) and current.steps > 1:
                current = named(scope, current)
            elif isinstance(current, Data) and current.lines and stage is not node.stages[-1]:
                current = with_ends(scope, scope.code.assign("lines", current.lines))
        return current if current is not None else data()
    if isinstance(node, Group) and not node.redirects:
        return stream(scope, node.body, given)
    if isinstance(node, For | While) and scope.printed is not None:
        return data(scope.printed(scope, node, given))
    if isinstance(node, Seq):
        parts: list[Content] = []
        for item in node.items:
            if scope.acts is not None and scope.acts(scope, item):
                continue
            got = stream(scope, item, given)
            parts += got.pieces if isinstance(got, Data) else [Content(as_bytes(scope, got))]
        return Data(tuple(parts)) if len(node.items) != 1 or not parts else stream_of(parts, got)
    if isinstance(node, Simple):
        return simple(scope, node, given)
    raise ShellError(f"a {type(node).__name__.lower()} inside a pipeline is not understood")


def stream_of(parts: list[Content], got: Stream) -> Stream:
    return got if isinstance(got, Items) else Data(tuple(parts))


def simple(scope: Scope, node: Simple, given: Stream | None) -> Stream:
    for redirect in node.redirects:
        given = _input(scope, redirect, given)
    name = node.name
    if not name:
        raise ShellError("a command whose name is not a constant is not understood")
    special = SPECIAL.get(name)
    if special is not None:
        out = special(scope, node.words[1:], given)
        if out is not None:
            return out
    spec = TABLE.get(name)
    if spec is None or spec.kind == "show":
        return run_plain(scope, name, spec, node.words[1:], given)
    if spec.kind != "filter":
        raise ShellError(f"{name} is not understood")
    return run_filter(scope, name, spec, node.words[1:], given)


def _input(scope: Scope, redirect: Redirect, given: Stream | None) -> Stream | None:
    if redirect.op == "<":
        return Data(tuple(read(scope, redirect.target)))
    if redirect.op == "<<":
        return data(encoded(scope, scope.pieces(redirect.target)))
    if redirect.fd == 2 or redirect.op in (">&",):
        return given
    raise ShellError("a redirection inside a pipeline is not understood")


def substituted(scope: Scope, body: Seq) -> Items:
    """The words of an unquoted command substitution; paths stay whole."""
    only = body.items[0] if len(body.items) == 1 else None
    if isinstance(only, Simple) and only.name == "seq":
        return numbers(scope, only)
    got = stream(scope, body)
    scope.code.need("os")
    return got if isinstance(got, Items) else Items(f"os.fsdecode({got.code}).split()", "text", "str")
