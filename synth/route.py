"""Which registered skill fits a task said in plain words: full-text search weighs the words, Thompson sampling the record.

A skill's prior is its score: ``k`` pretended successes for ``k = round(score * 5)``, halves away from zero, as in the seeds.
Each reported outcome counts once. ``RouteIndex.route`` ranks by the probability that a Thompson draw picks the skill.
"""

from __future__ import annotations

import math
import random
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from synth.registry import Registry
from synth.registry.indexing import EXTENSION_WORD, extension_words, mentions_extension, words
from synth.registry.vocabulary import synonyms
from verifiers.interface import ConfigError

SEEDS_PER_SCORE = 5
_WEIGHTS = (0.0, 4.0, 3.0, 1.0, 3.0, 0.7)
"""Of the index's columns: (exact name), name, description, parameters, tasks, concepts."""
_CANDIDATES = 40
_DRAWS = 400
_CREDITS = (1.0, 0.6, 0.6, 0.3)
"""What a word counts when the skill's texts say it, or a synonym; when only its commands mean it, or a synonym."""
_FIRST_WORD = 1.5
"""A request mostly starts with what is to be done; that word weighs so much more."""
_MIN_COVERAGE = 0.2
"""A skill that shares less than this part of the question's weight is not offered at all."""
_STOP_WORDS = """
a an and any are as at be been but by can could did do does did every each all for from get give had has have i if in
into is it its let like make me my need of on one or our out please should so some than that the their them then there
these this those to us use using want was we were what when which who will with within would you your
"""
_STOP = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class Match:
    """A skill that may do the task."""

    skill: str
    description: str
    probability: float
    """That a Thompson draw picks this skill among the matches. They add up to 1."""
    relevance: float
    """0 to 1: how much of the question its texts cover, relative to the best match."""
    coverage: float
    """0 to 1: the part of the question's words (rare ones count more) that occur in its texts."""
    expected: float
    """Mean of its success rate as known: score seeds and reported outcomes."""
    explanation: str


@dataclass(frozen=True, slots=True)
class Arm:
    """What is known of how often a skill does the right thing: Beta(1 + successes, 1 + failures)."""

    seeds: int
    succeeded: int = 0
    failed: int = 0

    @property
    def alpha(self) -> float:
        return 1.0 + self.seeds + self.succeeded

    @property
    def beta(self) -> float:
        return 1.0 + self.failed

    @property
    def mean(self) -> float:
        return self.alpha / (self.alpha + self.beta)

    def draw(self, source: random.Random) -> float:
        return source.betavariate(self.alpha, self.beta)


@dataclass(frozen=True, slots=True)
class SuccessRates:
    """How a task went before the skill was there and since."""

    before: float | None
    """Share of the traces of its pattern that succeeded; None where nothing was recorded."""
    after: float | None
    """Share of the reported outcomes that were good; None while there are none."""
    outcomes: int

    @property
    def improvement(self) -> float | None:
        """The seeds' ``success_rate_improvement``: after minus before."""
        return None if self.before is None or self.after is None else self.after - self.before


def seed_successes(score: float) -> int:
    """Pretended successes for a score: ``score * 5``, rounded half away from zero, the score first clamped to 0 to 1."""
    scaled = min(max(score, 0.0), 1.0) * SEEDS_PER_SCORE
    whole = math.floor(scaled)
    return whole + (1 if scaled - whole >= 0.5 else 0)


def head_start(index: int, count: int) -> int:
    """Pretended successes for the ``index``-th of ``count`` skills in the prioritizer's order: 3, 2, 1 or 0 by quarter."""
    return 3 if index < count // 4 else 2 if index < count // 2 else 1 if index < 3 * count // 4 else 0


def hydrate(bench: Mapping[str, float], verified: Mapping[str, float], order: Sequence[str]) -> dict[str, int]:
    """Seeds for a router at its start, layer by layer; a name that one layer seeded is skipped by the later ones.

    Args:
        bench: Scores of benchmark winners.
        verified: Measured scores of verified skills.
        order: Every visible skill, the prioritizer's favourite first.

    Returns:
        Pretended successes by name, of the visible skills that get any.
    """
    visible = set(order)
    seeds: dict[str, int] = {}
    for layer in (bench, verified):
        for name, score in layer.items():
            if name in visible and name not in seeds and (k := seed_successes(score)) > 0:
                seeds[name] = k
    for index, name in enumerate(order):
        if name not in seeds and (k := head_start(index, len(order))) > 0:
            seeds[name] = k
    return seeds


class RouteIndex:
    """Routing over the active skills of one registry. The texts live in the registry's database and change with it."""

    def __init__(self, registry: Registry | Path | str) -> None:
        """Routes over an open registry, or over the one in a directory.

        Raises:
            UnknownSkill: there is no registry in the directory.
            RegistryUnusable: it cannot be used.
        """
        self.registry = registry if isinstance(registry, Registry) else Registry.existing(registry)

    def route(self, task: str, *, limit: int = 5, seed: int = 0) -> list[Match]:
        """Skills for a task, the one most likely to be picked first; none if no skill's texts have enough to do with it.

        Args:
            task: What is to be done, in plain words. Any text is fine.
            limit: At most so many.
            seed: Of the simulated draws: equal seeds give equal rankings.
        """
        found = self._candidates(task)[: max(limit, 8)]
        if not found:
            return []
        wins = self._wins(found, random.Random(seed))
        ranked = sorted(
            zip(found, wins, strict=True), key=lambda pair: (-pair[1], -pair[0].weight * pair[0].arm.mean, pair[0].skill)
        )
        return [c.match(won / _DRAWS) for c, won in ranked[:limit]]

    def pick(self, task: str, *, seed: int | None = None) -> Match | None:
        """One Thompson draw: usually the best skill, now and then another that is worth trying. None if nothing fits.

        Args:
            seed: None = a different draw each time.
        """
        found = self._candidates(task)
        if not found:
            return None
        source = random.Random(seed) if seed is not None else random.SystemRandom()
        chosen = max(found, key=lambda c: (c.weight * c.arm.draw(source), c.skill))
        known = {m.skill: m for m in self.route(task, limit=len(found))}
        return known.get(chosen.skill) or chosen.match(1 / _DRAWS)

    @staticmethod
    def _wins(found: Sequence[_Candidate], source: random.Random) -> list[int]:
        wins = [0] * len(found)
        for _ in range(_DRAWS):
            draws = [c.weight * c.arm.draw(source) for c in found]
            wins[draws.index(max(draws))] += 1
        return wins

    def _candidates(self, task: str) -> list[_Candidate]:
        terms = question(task)
        if not terms:
            return []
        others = {t: sorted(synonyms(t)) for t in terms}
        rows = self._matching(list(dict.fromkeys([*terms, *(s for t in terms for s in others[t])])))
        total = int(self.registry.database.read("SELECT count(*) FROM indexed")[0][0])
        hits = {t: self._hits(t, others[t]) for t in terms}
        weights = {t: _word_weight(len(frozenset().union(*hits[t])), total) for t in terms}
        weights[terms[0]] *= _FIRST_WORD
        # An extension that no skill knows is a value, not a part of the task: the token for "some extension" stands for it.
        weights.update({t: 0.0 for t in extension_words(task) if t in weights and not any(hits[t])})
        arms = self.arms([str(r["skill"]) for r in rows])
        best = max((float(r["rank"]) for r in rows), default=1.0)
        out: list[_Candidate] = []
        for row in rows:
            at = int(row["rowid"])
            credit = {t: max((c for c, rows in zip(_CREDITS, hits[t], strict=True) if at in rows), default=0.0) for t in terms}
            hit = [t for t in terms if credit[t] > 0.0]
            coverage = sum(weights[t] * credit[t] for t in terms) / sum(weights.values())
            if coverage >= _MIN_COVERAGE and any(t != EXTENSION_WORD for t in hit):
                name = str(row["skill"])
                relevance = max(float(row["rank"]), 0.0) / best if best > 0 else 1.0
                known = tuple(t for t in terms if weights[t])
                out.append(_Candidate(name, str(row["description"]), relevance, coverage, arms[name], tuple(hit), known))
        return sorted(out, key=lambda c: (-c.weight * c.arm.mean, c.skill))

    def _matching(self, words: Sequence[str]) -> list[sqlite3.Row]:
        """``rowid``, ``skill``, ``description`` and ``rank`` of the texts that have one of the words, the best first."""
        columns = ", ".join(str(w) for w in _WEIGHTS)
        return self.registry.database.read(
            f"SELECT rowid, skill, description, -bm25(skill_text, {columns}) AS rank FROM skill_text WHERE skill_text MATCH ?"
            f" ORDER BY rank DESC, skill LIMIT {_CANDIDATES}", " OR ".join(f'"{w}"' for w in words),
        )  # fmt: skip

    def _hits(self, term: str, others: Sequence[str]) -> tuple[frozenset[int], ...]:
        """Texts that say this word, or another for the same, themselves; then those whose commands alone do."""
        near = " OR ".join(f'"{t}"' for t in others)
        said, meant = "{name description parameters tasks}", "{concepts}"
        queries = (f'{said} : "{term}"', f"{said} : ({near})", f'{meant} : "{term}"', f"{meant} : ({near})")
        return tuple(self._rows(query) if near or "()" not in query else frozenset() for query in queries)

    def _rows(self, query: str) -> frozenset[int]:
        return frozenset(
            int(r[0]) for r in self.registry.database.read("SELECT rowid FROM skill_text WHERE skill_text MATCH ?", query)
        )

    def arms(self, names: Sequence[str]) -> dict[str, Arm]:
        """What is known of each skill: seeds from bench or measured score, and the outcomes reported for its active version."""
        holes = ", ".join("?" * len(names))
        rows = self.registry.database.read(
            "SELECT s.name, v.score, v.measured, b.score AS bench, coalesce(o.succeeded, 0) AS succeeded,"
            " coalesce(o.failed, 0) AS failed FROM skill s JOIN version v ON v.name = s.name AND v.version = s.active"
            " LEFT JOIN bench b ON b.name = s.name LEFT JOIN outcome o ON o.name = s.name AND o.version = s.active"
            f" WHERE s.name IN ({holes})", *names,
        )  # fmt: skip
        out: dict[str, Arm] = {}
        for row in rows:
            bench = {row["name"]: row["bench"]} if row["bench"] is not None else {}
            verified = {row["name"]: row["score"]} if row["measured"] else {}
            # The third layer, a head start, is for skills that nobody measured; every skill here was.
            seeds = next((k for layer in (bench, verified) if (k := seed_successes(layer.get(row["name"], 0.0)))), 0)
            out[row["name"]] = Arm(seeds, row["succeeded"], row["failed"])
        return {name: out.get(name, Arm(0)) for name in names}

    # ------------------------------------------------------------ the record

    def feedback(self, skill: str, ok: bool) -> Arm:
        """Counts one outcome of the active version of a skill, and returns what is known of it now.

        Raises:
            UnknownSkill: no such skill is registered.
        """
        entry = self.registry.show(skill)
        column = "succeeded" if ok else "failed"
        with self.registry.database.write() as db:
            db.execute("INSERT INTO outcome (name, version) VALUES (?, ?) ON CONFLICT DO NOTHING", (entry.name, entry.version))
            db.execute(f"UPDATE outcome SET {column} = {column} + 1 WHERE name = ? AND version = ?", (entry.name, entry.version))
        return self.arms([entry.name])[entry.name]

    def set_bench(self, skill: str, score: float | None) -> None:
        """Records (or, with None, forgets) what a skill scored on a benchmark; such a score seeds before the measured one.

        Raises:
            UnknownSkill: no such skill is registered.
            ConfigError: the score is not between 0 and 1.
        """
        entry = self.registry.show(skill)
        if score is not None and not 0.0 <= score <= 1.0:
            raise ConfigError(f"a bench score of {score!r} is not between 0 and 1", "Give the share of cases that passed", skill)
        with self.registry.database.write() as db:
            db.execute("DELETE FROM bench WHERE name = ?", (entry.name,))
            if score is not None:
                db.execute("INSERT INTO bench VALUES (?, ?)", (entry.name, score))

    def success_rates(self, skill: str) -> SuccessRates:
        """How the task of a skill went before (``success_rate`` in its metadata) and since (reported outcomes of all versions).

        Raises:
            UnknownSkill: no such skill is registered.
        """
        entry = self.registry.show(skill)
        row = self.registry.database.read(
            "SELECT coalesce(sum(succeeded), 0), coalesce(sum(failed), 0) FROM outcome WHERE name = ?", entry.name
        )[0]
        good, bad = int(row[0]), int(row[1])
        before = entry.metadata.get("success_rate")
        known = float(before) if isinstance(before, int | float) and not isinstance(before, bool) else None
        return SuccessRates(known, good / (good + bad) if good + bad else None, good + bad)

    def seeds(self, order: Sequence[str] | None = None) -> dict[str, int]:
        """Seeds of every active skill for another router, hydrated as in the seeds.

        Args:
            order: The prioritizer's order of the active skills; None = best score first.
        """
        entries = self.registry.list()
        bench = {r["name"]: float(r["score"]) for r in self.registry.database.read("SELECT name, score FROM bench")}
        verified = {e.name: e.score for e in entries if e.metadata["measured"]}
        return hydrate(
            bench, verified, order if order is not None else [e.name for e in sorted(entries, key=lambda e: (-e.score, e.name))]
        )


@dataclass(frozen=True, slots=True)
class _Candidate:
    skill: str
    description: str
    relevance: float
    coverage: float
    arm: Arm
    hit: tuple[str, ...]
    terms: tuple[str, ...]

    @property
    def weight(self) -> float:
        """What the words say; squared, so that a better record outweighs a slightly better match and not a much better one."""
        return float(self.coverage**3 * math.sqrt(self.relevance))

    def match(self, probability: float) -> Match:
        said = [t for t in self.terms if t != EXTENSION_WORD]
        shared = [t for t in self.hit if t != EXTENSION_WORD]
        arm = self.arm
        record = f"score gives {arm.seeds} of {SEEDS_PER_SCORE} seeds, {arm.succeeded} good and {arm.failed} bad outcomes"
        text = f"shares {', '.join(shared)} ({len(shared)} of {len(said)} words); {record}"
        return Match(self.skill, self.description, probability, self.relevance, self.coverage, self.arm.mean, text)


def question(task: str) -> list[str]:
    """The words of a task that search uses: no stop words, each once, and a token for "some extension" where one is named."""
    terms = [w for w in dict.fromkeys(words(task)) if w not in _STOP][:32]
    return [*terms, EXTENSION_WORD] if terms and mentions_extension(task) else terms


def _word_weight(hits: int, total: int) -> float:
    """Rare words weigh more. A small registry counts as part of a larger world; a word that no skill has is half a word."""
    weight = math.log(1.0 + (total + 50.0) / (hits + 1.0))
    return weight if hits else weight / 2
