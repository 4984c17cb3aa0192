"""A start that is being made: variations rename, edit and change it one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from sandbox.interface import ROOT, Entry, JsonValue, Snapshot
from verifiers.interface import Args
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import all_text, fresh_words, rename_tree, substitute, tokens

LONGEST_VALUE = 40


class Draft:
    """A start, from the recorded one on. Paths in choices are recorded ones: ``renamed`` gives the new one."""

    def __init__(self, g: Grammar, salt: int) -> None:
        self.g = g
        self._seed = f"{g.task_id}:{salt}"
        self.rng = Random(self._seed)
        self.renames: dict[str, str] = {}
        self.args: Args = g.args
        self.base = Snapshot({p: e for p, e in g.base.items() if p != ROOT})
        """With the new names, before anything else changes: copies are made of this."""
        self.changes: dict[str, Entry | None] = {}
        self.stays: list[str] = []
        """Paths that the commands have to leave as they are: else the case says nothing."""
        self.made: list[str] = []
        """Paths that the trace makes, and that are there before on purpose."""
        own = (*(token for token, _ in g.bound), *g.free, *g.free_words, *g.formal)
        taken = all_text(g.base) + all_text(g.expectation.tree) + "\n".join(g.template.commands)
        self.own: Mapping[str, str] = dict(zip(own, fresh_words(self.rng, taken, len(own)), strict=True))
        """A new word for each token that may be renamed."""
        self._taken = "\n".join((taken, *self.own.values()))

    def begin(self, step: str) -> None:
        """What a step draws depends on nothing but itself: where it is left out, all else stays as it is."""
        self.rng = Random(f"{self._seed}:{step}")

    def word(self) -> str:
        """A word that the trace does not have."""
        return fresh_words(self.rng, self._taken, 1)[0]

    def settle(self) -> bool:
        """Gives base and arguments their new names; False where two paths fall together."""
        base = rename_tree(self.base, self.renames, self.g.inside)
        if base is None:
            return False
        self.base = base
        self.args = {p: self._value(v) for p, v in self.g.args.items()}
        return True

    def renamed(self, recorded: str) -> str:
        """A recorded path or line with the new names."""
        return substitute(recorded, self.renames, inside=self.g.inside)

    @property
    def said(self) -> list[str]:
        """The words of the new arguments."""
        values = (v for v in self.args.values() if isinstance(v, str))
        return sorted({t for v in values for t in tokens(v) if t.isalpha() and len(t) > 1})

    @property
    def numbered(self) -> list[str]:
        """The new arguments that have digits in them and are no bare numbers: a version, a date, a numbered name."""
        values = (v for v in self.args.values() if isinstance(v, str) and len(v) < LONGEST_VALUE)
        return sorted({v for v in values if any(c.isdigit() for c in v) and not v.isdecimal() and "\n" not in v})

    def here(self, path: str) -> Entry | None:
        """What is at a new path by now."""
        return self.changes[path] if path in self.changes else self.base.get(path)

    def content(self, recorded: str) -> bytes:
        entry = self.here(self.renamed(recorded))
        return entry.content if entry is not None else b""

    def edit(self, recorded: str, content: bytes) -> None:
        self.edit_new(self.renamed(recorded), content)

    def edit_new(self, path: str, content: bytes) -> None:
        """As ``edit``, of a path that has its new name already."""
        self.changes[path] = Entry("file", self.base[path].mode, content)

    def named(self, recorded: str) -> bool:
        """Whether an argument or a literal names the file: its first line may be a header."""
        return recorded not in self.g.files

    def _value(self, value: JsonValue) -> JsonValue:
        if isinstance(value, bool) or not isinstance(value, str | int):
            return value
        text = substitute(as_text(value), self.renames)
        return int(text) if isinstance(value, int) else text
