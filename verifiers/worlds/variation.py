"""What a variation is: one way for a start to differ from the recorded one, and what the commands' word is worth there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from itertools import islice, product
from typing import TypeAlias

from verifiers.interface import Args
from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar

Choice: TypeAlias = tuple[int | str, ...]
MOST_CHOICES = 4096
"""Pairs of a large trace that can be chosen: more are never tried."""


class Rule(Enum):
    """When a start with the variation is judged."""

    PLAIN = "plain"
    """The commands' word counts as it is."""
    BARE = "bare"
    """Leaves nothing where the recordings have something: commands that find nothing to do are right, and only harm counts."""
    BYSTANDER = "bystander"
    """Only where the commands take no notice of what it adds."""
    ITEM = "item"
    """Only where the commands do treat what it adds as an item."""
    TEXT = "text"
    """Only where the commands do with the marked value what they do with the plain one."""
    REMARK = "remark"
    """Only what it adds counts: that it stays, where the commands make their change and keep it."""
    UNSAID = "unsaid"
    """Never: nothing recorded speaks of it, and careful skills differ."""


class Said(Enum):
    """How much the recordings say of what a variation makes."""

    ALL = "all"
    """The whole outcome counts."""
    HARM = "harm"
    """Only harm to what the commands leave alone counts."""
    NOTHING = "nothing"
    """Not even that."""


class Stage(IntEnum):
    """When a variation is applied."""

    RENAME = 0
    """Tokens of names, values and contents get new spellings."""
    EDIT = 1
    """Contents change."""
    CHANGE = 2
    """Paths come and go."""


class Turns(Enum):
    """Which of the traces get the systematic plans."""

    EVERY = "every trace"
    FIRST = "the first trace"
    SHARED = "each trace its share"


@dataclass(frozen=True, slots=True)
class Step:
    """One choice of one variation."""

    variation: str
    choice: Choice


@dataclass(frozen=True, slots=True)
class Example:
    """A start before and after: paths with their contents. ``…`` stands for drawn letters or digits, a path that ends in ``/``
    is a directory, and a content that starts with ``-> `` a link."""

    choice: Choice
    before: Mapping[str, str]
    after: Mapping[str, str]
    args: Args = field(default_factory=dict)
    commands: str = "true"
    made: Mapping[str, str] = field(default_factory=dict)
    """What the trace makes beside what is there."""
    words: tuple[str, ...] = ()
    """Of the skill's own text."""
    texts: tuple[str, ...] = ()
    """Whole texts of the skill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """One way for a start to differ from the recorded one."""

    name: str
    why: str
    """One sentence: what it varies."""
    choices: Callable[[Grammar], Sequence[Choice]]
    """Every choice that a trace allows, always in the same order."""
    apply: Callable[..., None]
    """``apply(draft, *choice)`` changes the draft of a start."""
    examples: tuple[Example, ...]
    rule: Rule = Rule.PLAIN
    stage: Stage = Stage.CHANGE
    turns: Turns = Turns.EVERY
    drawn: int = 0
    """How many of its choices a random plan has at most."""
    alone: int = 0
    """How many of its choices are systematic plans, each alone."""
    together: Callable[[Grammar], Sequence[tuple[Step, ...]]] = lambda g: ()
    """More plans that chance should not miss."""
    recorded: Callable[[Choice, Sequence[Grammar]], Said] | None = None
    respells: bool = False
    """Whether its choice is a word of contents that becomes another."""
    asks: bool = True
    """Whether a difference that does no harm is asked about where no recording speaks of it."""
    odd: str = ""
    """The kind of oddness of its starts: such work is rare, and careful people do it in several ways. "" = usual. One kind of
    odd starts alone refuses no skill: it is asked about."""
    never: str = ""
    """Of what no recording speaks of: what holds in every recording instead, as a clause."""

    def systematic(self, g: Grammar) -> list[tuple[Step, ...]]:
        """Plans that chance should not miss."""
        alone = self.choices(g)[: self.alone] if self.alone else ()
        return [*((Step(self.name, choice),) for choice in alone), *self.together(g)]

    def said(self, choice: Choice, gs: Sequence[Grammar]) -> Said:
        """How much the recordings say of it."""
        if self.recorded is not None:
            return self.recorded(choice, gs)
        return {Rule.UNSAID: Said.NOTHING, Rule.BARE: Said.HARM}.get(self.rule, Said.ALL)


def of_content(edited: Callable[..., bytes]) -> Callable[..., None]:
    """Applies ``edited(content, draft, path, *way)``; the path is as recorded."""

    def apply(draft: Draft, path: str, *way: int | str) -> None:
        draft.edit(path, edited(draft.content(path), draft, path, *way))

    return apply


def contents(g: Grammar) -> list[Choice]:
    return [(p,) for p in g.contents]


def files(g: Grammar) -> list[Choice]:
    return [(p,) for p in g.files]


def pairs(first: Sequence[str], second: Sequence[str]) -> list[Choice]:
    """Each of the one with each of the other."""
    return list(islice(product(first, second), MOST_CHOICES))
