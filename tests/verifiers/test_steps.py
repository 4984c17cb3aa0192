"""Edits as steps: loaded, checked, replayed as recorded, and judged without commands to compare with."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from records import edit, file, record

from sandbox import open_sandbox
from sandbox.interface import Entry, ExecResult, ReplayRecord, Sandbox, Snapshot
from synth.tracing.redact import redact_trace
from synth.tracing.traces import trace_digest, trace_from_record, trace_to_record
from verifiers.context import Case
from verifiers.evidence import evidence_from_record
from verifiers.expectation.oracle import expect, replay
from verifiers.expectation.steps import commands_of, replayed, trace_request
from verifiers.interface import Args, Binding, EvidenceError, Report, Verdict
from verifiers.reconstruction.reconstruct import rebuild
from verifiers.subject import parse_subject
from verifiers.verify import Options, verify
from verifiers.worlds.substituted import replaceable

HEAD = """from pathlib import Path

from skill_api import Query, skill_command


@skill_command(autowire=True)
async def set_value(
    file: str = Query(..., description="Settings file"),
    key: str = Query(..., description="Which setting"),
    value: str = Query(..., description="Its new value"),
) -> dict[str, object]:
    \"\"\"Set one key of a settings file.\"\"\"
    path = Path(file)
    lines = path.read_text(encoding="utf-8").split("\\n")
"""
GOOD = (
    HEAD
    + """    if not any(line.startswith(f"{key} = ") for line in lines):
        raise KeyError(key)
    new = "\\n".join(f"{key} = {value}" if line.startswith(f"{key} = ") else line for line in lines)
    if new != "\\n".join(lines):
        path.write_text(new, encoding="utf-8")
    return {"ok": True}
"""
)
MEMORISER = (
    HEAD
    + """    new = {"host": "h = localhost", "mode": "m"}
    for at, line in enumerate(lines):
        if line.startswith(f"{key} = "):
            lines[at] = f"{key} = {value}" if value in ("alpha", "beta", "gamma", "delta") else line
    path.write_text("\\n".join(lines), encoding="utf-8")
    return {"ok": True}
"""
)


SETTINGS = (("app.ini", "mode", "fast", "alpha"), ("web.ini", "host", "old", "beta"), ("app.ini", "user", "root", "gamma"))


def setting(n: int, *, edits: bool = True) -> dict[str, Any]:
    path, key, old, new = SETTINGS[n]
    before, after = (f"# settings\n{key} = {v}\nport = 80\n" for v in (old, new))
    return record(
        *([edit(path, before, after)] if edits else []),
        task_id=f"set-{n}",
        task_description=f"Set {key} to {new} in {path}",
        workspace={path: file(before), "notes.txt": file("read me\n")},
        post_workspace={path: file(after), "notes.txt": file("read me\n")},
    )


ARGS = {f"set-{n}": {"file": p, "key": k, "value": v} for n, (p, k, _, v) in enumerate(SETTINGS)}


# ---------------------------------------------------------------- loading


def test_edits_stand_between_commands() -> None:
    """Each knows how many commands ran before it."""
    steps = [edit("a", None, "1"), {"command": 0}, edit("a", "1", "2"), edit("b", "x", None), {"command": 1}]
    loaded = evidence_from_record(record(*steps, commands=2), "x")
    assert [(e.after_commands, e.path) for e in loaded.edits] == [(0, "a"), (1, "a"), (1, "b")]
    assert loaded.edits[1].before == Entry("file", 0o644, b"1")
    assert not loaded.by_commands
    assert loaded.digest != evidence_from_record(record(*steps[:4], {"command": 1}, edit("c", None, ""), commands=2), "x").digest


@pytest.mark.parametrize(
    ("steps", "needle"),
    [
        ({}, "'steps': expected a list"),
        ([3], "'steps[0]': expected an object with"),
        ([{"command": 0, "edit": {}}], "'steps[0]': expected an object with"),
        ([{"command": 1}], "'steps[0].command': expected 0, got 1"),
        ([{"command": True}], "expected 0, got True"),
        ([], "'steps' has 0 items for 1 commands"),
        ([{"command": 0}, {"edit": {"path": "../x", "after": file("")}}], "not a clean relative path"),
        ([{"command": 0}, {"edit": {"path": "a"}}], "a file before, a file after or both"),
        ([{"command": 0}, {"edit": {"path": 1, "after": file("")}}], "'steps[1].edit.path': expected a string"),
        ([{"command": 0}, {"edit": {"path": "a", "after": {"type": "dir"}}}], "expected a regular file or null"),
        ([{"command": 0}, {"edit": {"path": "a", "after": {"type": "file", "content_b64": "%"}}}], "not base64"),
    ],
)
def test_wrong_steps_are_named(steps: Any, needle: str) -> None:
    """One error that says which step and what was expected."""
    with pytest.raises(EvidenceError) as caught:
        evidence_from_record({**record(commands=1), "steps": steps}, "f:1")
    assert needle in caught.value.diagnostics()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["command", "edit", "path", "before"]), inner),
    max_leaves=8,
)


@given(JSON)
def test_any_steps_load_or_are_refused(steps: Any) -> None:
    """Foreign data gives evidence or one error."""
    with contextlib.suppress(EvidenceError):
        assert isinstance(evidence_from_record({**record(), "steps": steps}, "f:1").edits, tuple)


def test_a_trace_keeps_its_steps_and_loses_its_secrets() -> None:
    """Through reading, writing and redaction; a copy is known by them."""
    key = "sk-" + "Ab3" * 10
    trace = trace_from_record(record(edit("env", f"KEY={key}\n", "KEY=\n")), "x")
    assert trace_from_record(trace_to_record(trace), "x") == trace
    assert trace_digest(trace) != trace_digest(trace_from_record(record(edit("env", "KEY=\n", "")), "x"))
    clean = evidence_from_record(trace_to_record(redact_trace(trace)), "x").edits[0].before
    assert clean is not None
    assert key.encode() not in clean.content


# ---------------------------------------------------------------- replay, without an engine


def test_the_commands_own_steps_are_told_apart() -> None:
    """An edit is no command: exit codes and outputs are those of the commands."""
    evidence = evidence_from_record(record({"command": 0}, edit("a", "1", "2"), {"command": 1}, commands=2), "x")
    job = trace_request(evidence, Snapshot()).job
    results = tuple(ExecResult(n % 2, None, b"", b"") for n in range(len(job.commands)))  # type: ignore[union-attr]
    own, refused = commands_of(evidence, ReplayRecord(None, results, Snapshot(), "exited"))
    assert len(own.steps) == 2
    assert "edit 1 (a)" in refused


def test_a_recording_without_steps_is_taken_as_it_is() -> None:
    """Nothing can be run again, and nothing was printed."""
    evidence = evidence_from_record(setting(0, edits=False), "x")
    assert evidence.post is not None
    x, why = expect(evidence, [ReplayRecord(None, (), evidence.post, "exited")])
    assert (why, x.answer_known, len(x.effects)) == ("", False, 1)


def test_what_the_end_was_computed_from_is_no_free_value() -> None:
    """A version that is counted up cannot be another one throughout; a name that is written as it is can."""

    def case(before: str, after: str, **args: str) -> Case:
        evidence = evidence_from_record(record(edit("f", before, after), workspace={"f": file(before)}), "x")
        x, _ = expect(evidence, [ReplayRecord(None, (), Snapshot({"f": Entry("file", 0o644, after.encode())}), "exited")])
        return Case("c", args, x, "t", evidence)

    assert replaceable(case("v 1.2.3\n", "v 1.2.4\n", old="1.2.3"), []) == []
    assert replaceable(case("v 1.2.3\n", "v 1.2.4\n", old="1.2.3", new="1.2.4"), []) == [("old", "1.2.3"), ("new", "1.2.4")]
    assert replaceable(case("a\n", "a\nname\nNAME\n", add="name"), []) == []
    assert replaceable(case("a\n", "a\nname\n", add="name"), []) == [("add", "name")]


# ---------------------------------------------------------------- with an engine


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox() as opened:
        yield opened


@pytest.mark.engine
def test_steps_run_as_recorded(sandbox: Sandbox) -> None:
    """Commands see edits and edits see commands; directories are made, modes set, large and binary files come out whole."""
    big = "ä" * 200_000 + "\0"
    steps = [
        edit("d/e/new.sh", None, "echo hi\n"), {"command": 0}, edit("out.txt", "hi\n", big), {"command": 1},
        edit("gone.txt", "x\n", None), {"command": 2},
    ]  # fmt: skip
    steps[0]["edit"]["after"]["mode"] = "0755"
    made = record(*steps, commands=3, workspace={"gone.txt": file("x\n")})
    made["commands"] = ["cd d/e && ./new.sh > ../../out.txt", "pwd; sha256sum < ../../out.txt > ../sum", "ls -A ../.."]
    evidence = evidence_from_record(made, "x")
    with sandbox.session("steps", 1) as session:
        found = replay([evidence], session)
        assert not found.unusable
        tree = found.usable[0].expectation.tree
        assert tree["out.txt"].content == big.encode()
        assert tree["d/e/new.sh"].mode == 0o755
        assert "gone.txt" not in tree
        assert found.usable[0].expectation.answer == "d\nout.txt\n"
        assert evidence.base is not None
        assert replayed(evidence, session, evidence.base)["d/sum"] == tree["d/sum"]


@pytest.mark.engine
@pytest.mark.parametrize(
    ("start", "before"), [("other\n", "a\n"), (None, "a\n"), ("a\n", None)]
)  # fmt: skip
def test_an_edit_of_another_file_than_recorded_is_refused(sandbox: Sandbox, start: str | None, before: str | None) -> None:
    """Then the start is not the recorded one, and the evidence is unusable: never the skill's fault."""
    workspace = {"f": file(start)} if start is not None else {}
    evidence = evidence_from_record(record(edit("f", before, "b\n"), workspace=workspace), "x")
    with sandbox.session("steps", 1) as session:
        assert replay([evidence], session).unusable == {"t": "edit 1 (f) finds another file than when it was recorded"}


@pytest.mark.engine
def test_a_start_is_rebuilt_from_what_edits_found(sandbox: Sandbox) -> None:
    """Accepted where the commands between print what they printed."""
    made = record(edit("f", "a\n", "b\n"), {"command": 0}, edit("made", "1\n", "2\n"), commands=1, metadata={"x": 1})
    made |= {"commands": ["cat f; echo 1 > made"], "outputs": ["b\n"]}
    with sandbox.session("steps", 1) as session:
        found = rebuild(evidence_from_record(made, "x"), session)
        assert not isinstance(found, str)
        assert (found.reconstructed, sorted(found.base or ()), sorted(found.post or ())) == (True, ["f"], ["f", "made"])
        wrong = rebuild(evidence_from_record({**made, "outputs": ["c\n"]}, "x"), session)
        assert isinstance(wrong, str)
        assert "not all that was there" in wrong


def judged(source: str, sandbox: Sandbox, *, edits: bool) -> Report:
    evidence = [evidence_from_record(setting(n, edits=edits), "x") for n in range(len(SETTINGS))]
    bindings = {t: Binding(t, a) for t, a in ARGS.items()}
    checks = frozenset({"evidence-reproduces", "effect-equivalent", "generalises", "deterministic-replay", "idempotent-replay"})
    options = Options(budget="fast", checks=checks, stop_early=False)
    return verify(parse_subject(source, "s.py"), evidence, bindings, sandbox=sandbox, options=options)


@pytest.mark.engine
@pytest.mark.parametrize("edits", [True, False])
def test_a_skill_learned_from_edits_is_judged(sandbox: Sandbox, edits: bool) -> None:
    """Without a command: what is right is right with other values throughout."""
    report = judged(GOOD, sandbox, edits=edits)
    assert report.verdict is Verdict.PASS, report.why
    found = report.check("generalises")
    assert found is not None
    assert int(str(found.measured["substituted_judged"])) > 20
    assert found.measured["memoriser_rejected"] is True


@pytest.mark.engine
def test_a_memoriser_of_edits_is_refused(sandbox: Sandbox) -> None:
    """It does what each recording did, and nothing else."""
    report = judged(MEMORISER, sandbox, edits=True)
    assert report.verdict is not Verdict.PASS
    found = report.check("effect-equivalent")
    assert found is not None
    assert found.verdict is Verdict.PASS


LISTS = """from pathlib import Path

from skill_api import Query, skill_command


@skill_command(autowire=True)
async def set_values(
    keys: list[str] = Query(..., description="Which settings"),
    values: list[str] = Query(..., description="Their new values"),
) -> dict[str, object]:
    \"\"\"Set some keys of app.ini.\"\"\"
    path = Path("app.ini")
    lines = path.read_text(encoding="utf-8").split("\\n")
    for key, value in zip(keys, values, strict=True):
        if not any(line.startswith(f"{key} = ") for line in lines):
            raise KeyError(key)
        lines = [f"{key} = {value}" if line.startswith(f"{key} = ") else line for line in lines]
    path.write_text("\\n".join(lines), encoding="utf-8")
    return {"ok": True}
"""
PAIRS = ((("mode", "alpha"), ("host", "delta")), (("host", "beta"),), (("user", "gamma"), ("mode", "theta")))


@pytest.mark.engine
@pytest.mark.parametrize(
    ("source", "wanted"),
    [(LISTS, Verdict.PASS), (LISTS.replace("{key} = {value}", "{key} = {value[:5]}"), Verdict.FAIL)],
)
def test_items_of_lists_have_other_values_too(sandbox: Sandbox, source: str, wanted: Verdict) -> None:
    """Else nothing could vary where lists are all that a skill is given; one that cuts its values off at five letters fails."""
    evidence, bindings = [], {}
    for n, pairs in enumerate(PAIRS):
        before = "host = old\nmode = fast\nuser = root\n"
        after = before
        for key, value in pairs:
            after = after.replace(f"{key} = {before.split(f'{key} = ')[1].split()[0]}", f"{key} = {value}")
        made = record(
            edit("app.ini", before, after),
            task_id=f"set-{n}", task_description="Set " + ", ".join(f"{key} to {value}" for key, value in pairs),
            workspace={"app.ini": file(before)},
        )  # fmt: skip
        evidence.append(evidence_from_record(made, "x"))
        args: Args = {"keys": [key for key, _ in pairs], "values": [value for _, value in pairs]}
        bindings[f"set-{n}"] = Binding(f"set-{n}", args)
    options = Options(budget="fast", checks=frozenset({"effect-equivalent", "generalises"}), stop_early=False)
    report = verify(parse_subject(source, "s.py"), evidence, bindings, sandbox=sandbox, options=options)
    found = report.check("effect-equivalent"), report.check("generalises")
    assert [c.verdict for c in found if c is not None] == [Verdict.PASS, wanted], report.why
