"""Commands of git in a form that may be run again on their own result: what is made already is not made anew, and what is gone
is not taken away again."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from verifiers.shell.commands import Parsed, Spec, leading_options, parse_args
from verifiers.shell.tree import Command, Group, If, Lit, Part, Seq, ShellError, Simple, Test, Word, literal_word, spelled

_TAKE: Mapping[str, Sequence[str]] = {
    "tag": ("-m", "-F", "-u", "--message", "--file", "--local-user", "--cleanup"),
    "branch": ("-u", "--set-upstream-to"),
    "switch": ("-c", "--create"),
    "checkout": ("-b",),
    "commit": ("-m", "-F", "-C", "-c", "--message", "--file", "--author", "--date"),
    "clone": ("-b", "--branch", "-o", "--origin", "-c", "--config", "--depth", "-j"),
    "apply": ("-p", "-C", "--directory", "--exclude", "--include"),
    "remote": ("-t", "-m"),
}
"""Options whose value is the next word."""
_NO_NEW = {
    "tag": {"-l", "--list", "-v", "--verify", "-n", "-f", "--force", "--contains", "--points-at"},
    "branch": {
        "-l", "--list", "-a", "--all", "-r", "--remotes", "-v", "-vv", "-u", "--set-upstream-to", "-f", "--force",
        "--show-current", "--contains", "--merged", "--edit-description", "--unset-upstream",
    },
    "commit": {"--amend", "--allow-empty"},
    "apply": {"--check", "--stat", "--numstat", "--summary", "-R", "--reverse"},
}  # fmt: skip
"""Options with which nothing new is made, or the same may be made again."""
_WHOLE = frozenset({
    "am", "apply", "checkout", "cherry-pick", "clone", "merge", "mv", "pull", "rebase", "reset", "restore", "revert", "rm",
    "stash", "switch",
})  # fmt: skip
"""Commands that refuse, or take for somebody's work, what is there by half."""
_REFERENCES = {"tag": "refs/tags/", "branch": "refs/heads/", "switch": "refs/heads/", "checkout": "refs/heads/"}


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of git, taken apart."""

    node: Simple
    head: tuple[Word, ...]
    """``git`` with the options that stand before its command."""
    sub: str
    said: Parsed
    """What stands after its command."""

    def git(self, *words: str | Word) -> Simple:
        """Another call in the same place."""
        return Simple((*self.head, *(literal_word(w) if isinstance(w, str) else w for w in words)))

    def has(self, name: Word) -> Simple:
        """Whether there is a tag or branch of this name."""
        return self.git("show-ref", "--verify", "--quiet", _joined(_REFERENCES[self.sub], name))

    def unless(self, there: Command) -> Command:
        return Group(Seq((there, replace(self.node, redirects=())), ("||",)), False, self.node.redirects)


def repeatable(node: Simple) -> Command:
    """The call in its repeatable form; as it is where it has none, or needs none."""
    call = _call(node)
    if call is None or call.said.has(*_NO_NEW.get(call.sub, ())):
        return node
    form = _FORMS.get(call.sub)
    return form(call) if form is not None else node


def wants_it_whole(node: object) -> bool:
    """Whether a command of git would not go on from a workspace that was put in place by half."""
    call = _call(node) if isinstance(node, Simple) and node.name == "git" else None
    return call is not None and call.sub in _WHOLE


def _call(node: Simple) -> _Call | None:
    at = 1 + leading_options("git", [spelled(w) for w in node.words[1:]])
    sub = node.words[at].literal if at < len(node.words) else None
    if sub is None:
        return None
    try:
        said = parse_args(Spec("change", dict.fromkeys(_TAKE.get(sub, ()), "text")), node.words[at + 1 :])
    except ShellError:
        return None
    return _Call(node, node.words[:at], sub, said)


def _joined(before: str, word: Word, after: str = "") -> Word:
    parts: tuple[Part, ...] = (Lit(before), *word.parts, *((Lit(after),) if after else ()))
    return Word(parts)


# ---------------------------------------------------------------- one form a command


def _commit(call: _Call) -> Command:
    """Where something is to be committed."""
    return call.unless(call.git("diff", "--quiet", "HEAD" if call.said.has("-a", "--all") else "--cached"))


def _reference(call: _Call) -> Command:
    """A tag or branch that is not there; one that is, to delete it; another name, where that is not taken."""
    names = call.said.operands
    if call.said.has("-d", "-D", "--delete"):
        return If(Seq((call.has(names[0]),)), Seq((call.node,))) if len(names) == 1 else call.node
    if call.sub == "branch" and call.said.has("-m", "-M", "--move"):
        return call.unless(call.has(names[1])) if len(names) == 2 else call.node
    return call.unless(call.has(names[0])) if len(names) in (1, 2) else call.node


def _switch(call: _Call) -> Command:
    """To a branch that is made only where it is not there."""
    name = call.said.value("-c", "--create", "-b")
    if name is None:
        return call.node
    return If(Seq((call.has(name),)), Seq((call.git(call.sub, "--quiet", name),)), Seq((call.node,)))


def _mv(call: _Call) -> Command:
    """What is still in its old place."""
    if len(call.said.operands) != 2 or len(call.head) > 1:
        return call.node
    old, new = call.said.operands
    gone = Test((literal_word("!"), literal_word("-e"), old))
    return call.unless(Group(Seq((gone, Test((literal_word("-e"), new))), ("&&",)), False))


def _rm(call: _Call) -> Command:
    at = len(call.head) + 1
    return replace(call.node, words=(*call.node.words[:at], literal_word("--ignore-unmatch"), *call.node.words[at:]))


def _apply(call: _Call) -> Command:
    """A patch that is not applied yet. Each of the two reads it by itself."""
    at = len(call.head) + 1
    asking = map(literal_word, ["--reverse", "--check"])
    applied = replace(call.node, words=(*call.node.words[:at], *asking, *call.node.words[at:]))
    return Group(Seq((applied, call.node), ("||",)), False)


def _clone(call: _Call) -> Command:
    """Where it is not there yet: its HEAD tells a repository from another directory of that name."""
    bare = call.said.has("--bare", "--mirror")
    place = _place(call, bare)
    if place is None or len(call.head) > 1:
        return call.node
    return call.unless(Test((literal_word("-e"), _joined("", place, "/HEAD" if bare else "/.git/HEAD"))))


def _place(call: _Call, bare: bool) -> Word | None:
    """Where a clone comes to lie: as it says, else by the name of what is cloned."""
    if len(call.said.operands) == 2:
        return call.said.operands[1]
    source = call.said.operands[0].literal if len(call.said.operands) == 1 else None
    if source is None:
        return None
    name = posixpath.basename(source.rstrip("/").removesuffix("/.git")).removesuffix(".git")
    return literal_word(f"{name}.git" if bare else name) if name else None


def _remote(call: _Call) -> Command:
    """A remote of this name and address that is not known yet."""
    if len(call.said.operands) != 3 or call.said.operands[0].literal != "add":
        return call.node
    _, name, address = call.said.operands
    return call.unless(call.git("config", "--get", "--fixed-value", _joined("remote.", name, ".url"), address))


_FORMS = {
    "commit": _commit, "tag": _reference, "branch": _reference, "switch": _switch, "checkout": _switch, "mv": _mv, "rm": _rm,
    "apply": _apply, "clone": _clone, "remote": _remote,
}  # fmt: skip
