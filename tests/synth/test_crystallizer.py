"""``SkillCrystallizer`` and ``Crystallization``: what is registered, when, and that nothing is on any failure."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from factories import SANDBOX, draft, report, source

from sandbox.interface import Cause, JsonValue, SandboxError, SandboxInfo
from sandbox.snapshot import Entry, Snapshot
from synth.config import parse_config
from synth.crystallization.outcome import counts, to_json
from synth.crystallization.promotion import Crystallization
from synth.crystallizer import SkillCrystallizer
from synth.documentation import _limits
from synth.interface import Candidate, RegistryEntry, Template, TracePattern
from synth.llm import ModelGenerator
from synth.registry import Registry
from synth.registry.receipt import evidence_sha256
from synth.tracing.traces import load_traces
from verifiers.decisions import add, decided, home
from verifiers.interface import (
    Args,
    Behaviour,
    CheckResult,
    ConfigError,
    Decision,
    Evidence,
    EvidenceSummary,
    Finding,
    GeneratedCase,
    Question,
    Report,
    Verdict,
)


@dataclass
class Proposing:
    """Proposes one skill for whatever it is shown."""

    text: str = field(default_factory=lambda: source("batch_rename"))
    name: str = "embedded/test"

    def generate(self, pattern: TracePattern, evidence: Sequence[Evidence], template: Template = "skill") -> Iterator[Candidate]:
        yield Candidate("batch_rename", self.text, {e.task_id: args(e) for e in evidence}, "Rename files.", self.name)

    def rejected(self, candidate: Candidate, report: Report) -> None:
        del candidate, report

    def why_none(self) -> str:
        return "nothing was proposed"


def args(evidence: Evidence) -> Args:
    words = evidence.description.split()
    return {"old_ext": words[1], "new_ext": words[3]}


@dataclass
class Judge:
    """Says the given verdict of every candidate, about the evidence that it was given."""

    verdict: Verdict = Verdict.PASS
    error: Exception | None = None
    seen: list[int] = field(default_factory=list)
    decisions: tuple[Decision, ...] = ()
    right: str = ""
    """Code that does what was decided: with a decision, no other passes; "" = all do."""
    info: SandboxInfo | None = SANDBOX

    def rebuilt(self, evidence: Sequence[Evidence]) -> Sequence[Evidence]:
        if self.error is not None:
            raise self.error
        return evidence

    def lets_in(self, source: str) -> bool:
        return True

    def unusable(self, evidence: Sequence[Evidence]) -> Mapping[str, str]:
        return {}

    def bind_alone(self, candidate: Candidate, seen: Sequence[Evidence], new: Evidence) -> Args | None:
        return None

    def bind(self, candidate: Candidate, seen: Sequence[Evidence], new: Sequence[Evidence]) -> Mapping[str, Args]:
        return {e.task_id: args(e) for e in new}

    def verify(
        self,
        candidate: Candidate,
        evidence: Sequence[Evidence],
        bindings: Mapping[str, Args],
        unseen: frozenset[str],
        failures: int,
    ) -> Report:
        self.seen.append(len(evidence))
        summary = EvidenceSummary(evidence_sha256(evidence), len(evidence), len(evidence), 0)
        tasks = {e.task_id for e in evidence}
        held = tuple(decided(d) for d in self.decisions if d.question.case.task_id in tasks)
        made = report(replace(draft(), source=candidate.source), evidence=summary, bindings=dict(bindings), decisions=held)
        if self.verdict is Verdict.PASS and not (held and self.right and candidate.source != self.right):
            return made
        check = CheckResult("effect-equivalent", self.verdict, (Finding("it does something else"),))
        verdict = Verdict.FAIL if self.verdict is Verdict.PASS else self.verdict
        return replace(made, verdict=verdict, score=None, checks=(replace(check, verdict=verdict),))

    def deciding(self, decisions: tuple[Decision, ...]) -> Judge:
        self.decisions = decisions
        return self

    def holds(self, candidate: Candidate, evidence: Sequence[Evidence], bindings: Mapping[str, Args]) -> bool:
        return self.verdict is Verdict.PASS


EXTENSIONS = (("txt", "md"), ("html", "htm"), ("log", "bak"), ("jpeg", "jpg"), ("yaml", "yml"), ("text", "txt"))


async def record(crystallizer: SkillCrystallizer, number: int, success: bool = True) -> str:
    old, new = EXTENSIONS[number]
    content = base64.b64encode(f"{number}\n".encode()).decode()
    command = f'for f in *.{old}; do mv "$f" "${{f%.{old}}}.{new}"; done'
    tree: dict[str, Any] = {"type": "file", "mode": "0644", "content_b64": content}
    return await crystallizer.record_execution(
        f"rename {old} to {new}", [command], [""], success, 12.0,
        exit_codes=[0], workspace={f"a.{old}": tree}, post_workspace={f"a.{new}": tree},
    )  # fmt: skip


def crystallizer(tmp_path: Path, judge: Judge, **more: Any) -> SkillCrystallizer:
    return SkillCrystallizer(tmp_path / "evolution" / "traces", tmp_path / "skills", generator=Proposing(), judge=judge, **more)


def run_all(made: SkillCrystallizer, *numbers: int) -> None:
    async def go() -> None:
        for number in numbers:
            await record(made, number)

    asyncio.run(go())


def test_the_third_success_makes_a_skill(tmp_path: Path) -> None:
    """Two executions do nothing; the third crystallizes, registers, and the skill can be found by plain words."""
    from synth.route import RouteIndex

    made = crystallizer(tmp_path, Judge())
    run_all(made, 0, 1)
    assert made.outcomes == []
    run_all(made, 2)
    (outcome,) = made.outcomes
    assert (outcome.ending, outcome.skill) == ("registered", "batch_rename")
    assert [e.name for e in made.registry.list()] == ["batch_rename"]
    assert RouteIndex(made.registry).route("rename all txt files to md")[0].skill == "batch_rename"
    assert made.metrics.values()["skills_crystallized"] == 1
    made.close()


def test_all_of_a_trace_can_be_told(tmp_path: Path) -> None:
    """By name: its task, the family of the task and the order of its steps."""
    made = SkillCrystallizer(tmp_path / "traces", tmp_path / "skills")
    empty: dict[str, JsonValue] = {"type": "file", "mode": "0644", "content_b64": ""}
    steps: list[dict[str, JsonValue]] = [{"edit": {"path": "a", "before": None, "after": empty}}, {"command": 0}]
    told = asyncio.run(made.record_execution("x", ["true"], [""], False, 1.0, task_id="t", task_family="f", steps=steps))
    (trace,) = load_traces(tmp_path / "traces")
    assert (told, trace.task_id, trace.task_family) == ("t", "t", "f")
    assert list(trace.steps or ()) == steps


def test_a_failure_is_stored_and_triggers_nothing(tmp_path: Path) -> None:
    """Failed executions are kept as traces; they never complete a pattern."""
    made = crystallizer(tmp_path, Judge())

    async def go() -> None:
        for number in range(4):
            await record(made, number, success=False)

    asyncio.run(go())
    assert made.outcomes == []
    assert len(list((tmp_path / "evolution" / "traces").glob("*.json"))) == 4
    made.close()


@pytest.mark.parametrize(
    ("judge", "ending", "why"),
    [
        (Judge(Verdict.FAIL), "refused", "effect-equivalent: it does something else"),
        (Judge(Verdict.INCONCLUSIVE), "inconclusive", "effect-equivalent: it does something else"),
        (Judge(error=SandboxError(Cause.ENGINE_LOST, "the engine is gone", "Wait")), "inconclusive", "the engine is gone. Wait"),
    ],
)
def test_nothing_is_registered_on_a_failure(tmp_path: Path, judge: Judge, ending: str, why: str) -> None:
    """Refused, inconclusive, or no engine: an outcome with its sentence, an empty registry, and the trace is still stored."""
    made = crystallizer(tmp_path, judge)
    run_all(made, 0, 1, 2)
    assert (made.outcomes[0].ending, made.outcomes[0].why) == (ending, why)
    assert made.registry.list(None) == []
    assert len(list((tmp_path / "evolution" / "traces").glob("*.json"))) == 3
    made.close()


def test_more_traces_of_a_known_task_make_a_new_version(tmp_path: Path) -> None:
    """Not a second skill: the old evidence and the new together, once enough new ones are there."""
    judge = Judge()
    made = crystallizer(tmp_path, judge)
    run_all(made, 0, 1, 2)
    first = made.registry.list()[0].version
    run_all(made, 3, 4)
    assert [e.version for e in made.registry.list()] == [first]
    assert made.outcomes[-1].why == "it is registered for this task; 2 new traces so far"
    run_all(made, 5)
    (entry,) = made.registry.list()
    assert entry.version != first
    assert judge.seen[-1] == 6
    assert len(made.registry.draft("batch_rename").evidence) == 6
    made.close()


def test_answers_hold_for_the_next_version(tmp_path: Path) -> None:
    """The skill is made anew from more traces: it is judged by what was answered, and has it; what fell away is said."""
    made = crystallizer(tmp_path, Judge())
    run_all(made, 0, 1, 2)
    entry = made.registry.show("batch_rename")
    task = made.registry.draft("batch_rename").evidence[0].task_id
    start = Snapshot({"a b.txt": Entry("file")})
    question = Question("no-blanks-in-names", "A blank.", GeneratedCase(task, start, {}), Behaviour(start), Behaviour(start))
    answers = (Decision(question, "invalid"), Decision(replace(question, case=replace(question.case, task_id="gone")), "skill"))
    skill = Path(entry.path) / "skill.py"
    add(home(skill, skill.with_name("evidence.jsonl")), answers)
    run_all(made, 3, 4, 5)
    assert made.registry.show("batch_rename").version != entry.version
    draft = made.registry.draft("batch_rename")
    assert draft.decisions == answers[:1]
    assert "- A blank. (breaks: no-blanks-in-names)" in draft.skill_md
    assert "of traces that are not judged any more do not hold: gone" in made.outcomes[-1].notes[-1]
    made.close()


def answered(made: SkillCrystallizer) -> RegistryEntry:
    """The skill's version, of which somebody has said that the commands are right."""
    entry = made.registry.show("batch_rename")
    start = Snapshot({"a b.txt": Entry("file")})
    case = GeneratedCase(made.registry.draft("batch_rename").evidence[0].task_id, start, {})
    question = Question("no-blanks-in-names", "A blank.", case, Behaviour(start), Behaviour(start))
    skill = Path(entry.path) / "skill.py"
    add(home(skill, skill.with_name("evidence.jsonl")), [Decision(question, "commands")])
    return entry


def test_an_answer_outlives_the_version_that_it_refuses(tmp_path: Path) -> None:
    """The same recordings make that version not once more, but one that does what was decided, under the same name."""
    judge, maker = Judge(right=source("batch_rename", "Rename as decided.")), Proposing()
    made = crystallizer(tmp_path, judge)
    made.generator = maker
    run_all(made, 0, 1, 2)
    entry = answered(made)
    made.registry.demote(entry.name, entry.version, "against what was decided")
    calls = len(judge.seen)
    again = asyncio.run(made.crystallize_due())
    assert [o.ending for o in again] == ["refused"]
    assert again[0].draft is not None
    assert again[0].draft.decisions == made.registry.decisions(entry)
    assert len(judge.seen) == calls + 1  # nothing is gained from the same search once more
    assert made.registry.list() == []
    maker.text = judge.right
    assert [o.ending for o in asyncio.run(made.crystallize_due())] == ["registered"]
    now = made.registry.show("batch_rename")
    assert now.version != entry.version
    assert made.registry.decisions(now) == made.registry.decisions(entry) != ()
    made.close()


@pytest.mark.parametrize("forever", [False, True])
def test_an_answer_outlives_a_skill_that_is_retired(tmp_path: Path, forever: bool) -> None:
    """What was said of a recording's case holds for whatever is made of that recording."""
    judge = Judge(right=source("batch_rename", "Rename as decided."))
    made = crystallizer(tmp_path, judge)
    run_all(made, 0, 1, 2)
    entry = answered(made)
    (made.registry.revoke if forever else made.registry.archive)(entry.name, entry.version)
    assert [o.ending for o in asyncio.run(made.crystallize_due())] == ["refused"]
    assert len(judge.decisions) == 1
    assert made.registry.list() == []
    made.close()


def test_an_answer_holds_where_only_the_new_traces_are_left(tmp_path: Path) -> None:
    """A next version that the answer refuses does not come in as a skill of its own."""
    made = crystallizer(tmp_path, Judge(right=source("batch_rename", "Rename as decided.")))
    run_all(made, 0, 1, 2)
    entry = answered(made)
    run_all(made, 3, 4, 5)
    assert made.outcomes[-1].ending == "refused"
    assert [e.version for e in made.registry.list(None)] == [entry.version]
    made.close()


def test_an_approval_is_waited_for(tmp_path: Path) -> None:
    """Where the configuration asks for a person, the skill is staged and says how to approve it."""
    from synth.config import Config

    config = Config.default(tmp_path)
    approving = replace(config, registry=config.registry.model_copy(update={"approve": True}))
    made = crystallizer(tmp_path, Judge(), config=approving)
    run_all(made, 0, 1, 2)
    assert made.outcomes[0].ending == "registered"
    version = made.outcomes[0].version or ""
    assert f"assay registry activate batch_rename {version[:12]} --approver" in made.outcomes[0].why
    assert made.registry.list() == []
    made.close()


def test_new_skills_are_attested_and_announced(tmp_path: Path) -> None:
    """With a configured key the version is signed beside its directory, and hooks hear of it; a lost directory is only noted."""
    from synth.attest import attestation_path, read_attestations, verify
    from synth.config import Config
    from synth.keys import keygen, load_public_key

    keygen(tmp_path / "key", tmp_path / "key.pub")
    config = Config.default(tmp_path)
    heard = tmp_path / "heard"
    configured = replace(
        config,
        registry=config.registry.model_copy(update={"signing_key": "key"}),
        hooks=config.hooks.model_copy(update={"command": (f"tee {heard}",)}),
    )
    made = crystallizer(tmp_path, Judge(), config=configured)
    run_all(made, 0, 1, 2)
    entry = made.registry.show("batch_rename")
    link = tmp_path / "skills" / "skills" / "batch_rename"
    (envelope,) = read_attestations(attestation_path(link))
    assert verify(envelope, load_public_key(tmp_path / "key.pub"), link).result == "PASSED"
    assert made.registry.audit() == []
    assert '"event": "registered"' in heard.read_text(encoding="utf-8")
    attestation_path(link).unlink()
    attestation_path(link).mkdir()
    notes = Crystallization(made.generator, Judge(), None, attest=configured.attest())._attested(entry, made.outcomes[0].report)
    assert notes[0].startswith("not attested: ")
    made.close()


def test_due_patterns_can_be_crystallized_later(tmp_path: Path) -> None:
    """What an interval calls for: every due pattern of the store, foreign files left alone."""
    from synth.config import Config

    config = Config.default(tmp_path)
    off = replace(config, evolution=config.evolution.model_copy(update={"enabled": False}))
    made = crystallizer(tmp_path, Judge(), config=off)
    run_all(made, 0, 1, 2)
    (tmp_path / "evolution" / "traces" / "notes.json").write_text("{", encoding="utf-8")
    assert made.outcomes == []
    outcomes = asyncio.run(made.crystallize_due())
    assert [o.ending for o in outcomes] == ["registered"]
    made.close()


def test_without_a_registry_nothing_is_kept(tmp_path: Path) -> None:
    """What would be registered is reported with that reason."""
    made = crystallizer(tmp_path, Judge())
    run_all(made, 0, 1, 2)
    pattern = made.patterns()[0]
    outcome = Crystallization(Proposing(), Judge(), None).run(pattern)
    assert (outcome.ending, outcome.skill) == ("refused", "batch_rename")
    made.close()


def test_registered_bytes_are_those_that_were_judged(tmp_path: Path) -> None:
    """Evidence, bindings and code of the registered version are the report's."""
    made = crystallizer(tmp_path, Judge())
    run_all(made, 0, 1, 2)
    with Registry(tmp_path / "skills") as registry:
        entry = registry.show("batch_rename")
        kept = registry.draft("batch_rename")
    assert entry.version == made.outcomes[0].version
    assert set(kept.bindings) == {t.task_id for t in kept.evidence}
    assert entry.metadata["source"] == "crystallized"
    assert entry.metadata["pattern_type"] == "repetitive"
    assert kept.skill_md.startswith("---\nname: batch_rename\n")
    made.close()


def test_json_has_the_documented_shape(tmp_path: Path) -> None:
    """``assay-crystallize/1``: the keys of the design, in every ending."""
    made = crystallizer(tmp_path, Judge())
    run_all(made, 0, 1, 2)
    document = to_json(made.outcomes, {"skills_crystallized": 1})
    assert document["schema"] == "assay-crystallize/1"
    (row,) = document["patterns"]
    assert {"task_ids", "outcome", "skill", "version", "score", "why", "held_out", "bindings"} <= row.keys()
    assert row["bindings"][row["task_ids"][0]]["args"]["old_ext"] == "txt"
    assert counts(made.outcomes) == {"registered": 1, "refused": 0, "no-candidate": 0, "inconclusive": 0}
    made.close()


def test_only_the_new_trace_is_read(tmp_path: Path) -> None:
    """The index knows the others: a trace file that was damaged since is not looked at, and counts as it was."""
    made = crystallizer(tmp_path, Judge())
    run_all(made, 0, 1)
    ignored = tmp_path / "evolution" / "traces" / "20200101_000000_other_0.json"
    ignored.write_text("{", encoding="utf-8")
    run_all(made, 2)
    assert [o.ending for o in made.outcomes] == ["registered"]
    made.close()


def test_traces_that_others_stored_before_count(tmp_path: Path) -> None:
    """Another process's executions complete a pattern too."""
    first = crystallizer(tmp_path, Judge())
    run_all(first, 0, 1)
    first.close()
    (tmp_path / "evolution" / "patterns.index.sqlite").unlink()
    second = crystallizer(tmp_path, Judge())
    run_all(second, 2)
    assert [o.ending for o in second.outcomes] == ["registered"]
    second.close()


def test_without_a_place_for_the_index_every_trace_is_read(tmp_path: Path) -> None:
    """It is only a cache: nothing fails for lack of it."""
    made = crystallizer(tmp_path, Judge())
    (tmp_path / "evolution" / "patterns.index.sqlite").mkdir(parents=True)
    run_all(made, 0, 1, 2)
    assert [o.ending for o in made.outcomes] == ["registered"]
    assert len(made.patterns()) == 1
    made.close()


def test_the_configuration_names_the_generator(tmp_path: Path) -> None:
    """With `generator.name: anthropic` a model is asked, within the configured budgets, and its answers are kept."""
    text = "generator:\n  name: anthropic\n  candidates: 2\nllm:\n  model: m\n  max_run_usd: 0.5\n  prices:\n    m: "
    text += "{input: 1, output: 2, cache_read: 0, cache_write: 1}\n"
    config = parse_config(text.encode(), tmp_path / "assay.yaml")
    made = SkillCrystallizer(tmp_path / "traces", tmp_path / "skills", config=config)
    made.close()
    assert isinstance(made.generator, ModelGenerator)
    settings = made.generator.settings
    assert (settings.model, settings.candidates, settings.max_run_cost_usd) == ("m", 2, 0.5)
    assert (settings.prices["m"].output, settings.cache) == (2.0, tmp_path / ".assay" / "llm")


def test_a_missing_key_is_no_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says nothing of the task: not settled, with what to do."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    config = parse_config(b"generator:\n  name: anthropic\n", tmp_path / "assay.yaml")
    made = SkillCrystallizer(tmp_path / "evolution" / "traces", tmp_path / "skills", judge=Judge(), config=config)
    run_all(made, 0, 1, 2)
    made.close()
    (outcome,) = made.outcomes
    assert (outcome.ending, outcome.report) == ("inconclusive", None)
    assert outcome.why == "the anthropic generator has no key. Set ANTHROPIC_API_KEY, or use --generator embedded"


def test_an_address_that_nobody_trusts_gets_no_key(tmp_path: Path) -> None:
    """A file in the tree could send the user's key anywhere: it is said, and nothing is opened."""
    text = b"generator:\n  name: anthropic\nllm:\n  base_url: http://evil.example\n"
    config = parse_config(text, tmp_path / "assay.yaml")
    with pytest.raises(ConfigError, match="would get your key") as caught:
        SkillCrystallizer(tmp_path / "traces", tmp_path / "skills", config=config)
    assert "assay config trust" in caught.value.advice


def test_an_unknown_key_of_a_price_is_named(tmp_path: Path) -> None:
    """One sentence with the key and those that there are."""
    with pytest.raises(ConfigError, match=r"llm\.prices\.m\.out") as caught:
        parse_config(
            b"llm:\n  prices:\n    m: {input: 1, output: 2, cache_read: 0, cache_write: 1, out: 3}\n", tmp_path / "assay.yaml"
        )
    assert "output" in caught.value.advice


def test_a_skills_text_says_nothing_that_only_its_maker_can_use() -> None:
    """How far the evidence pins the code down stands in the report; what a run should know stands in the text."""
    made = report(draft())
    notes = tuple(
        CheckResult(id, Verdict.PASS, (Finding("something to know", severity="info"),)) for id in ("mutants-killed", "contained")
    )
    text = "\n".join(_limits(replace(made, checks=notes)))
    assert "mutants-killed" not in text
    assert "- contained: something to know" in text
