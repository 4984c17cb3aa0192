"""The life of registered skills from the command line: versions, approval, drift, outcomes."""

from __future__ import annotations

import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from factories import draft, report

from synth.attest import attestation_path, read_attestations
from synth.cli.program import run
from synth.interface import ExecutionTrace
from synth.keys import keygen
from synth.metrics import Metrics
from synth.registry import Registry

ROOT = Path(__file__).parents[2]
BROKEN = ROOT / "fixtures" / "broken" / "append_line"
SKILLS = ROOT / "fixtures" / "skills"


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two versions of one skill, the newer one waiting for approval."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".assay" / "evolution").mkdir(parents=True)
    first = draft()
    second = replace(first, source=first.source.replace("changed = 0", "changed = 0 + 0"))
    with Registry(tmp_path / "registry") as opened:
        opened.register(first, report(first), metadata={"success_rate": 0.25})
        opened.register(second, report(second), supersedes="batch_rename", require_approval=True)
    return tmp_path / "registry"


def versions(registry: Path) -> dict[str, str]:
    with Registry(registry) as opened:
        return {e.status: e.version for e in opened.list(None)}


def test_approval_rollback_and_diff(registry: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A staged version needs its approver; then it is active, and the one before can come back."""
    where = ["--registry", str(registry)]
    staged, first = versions(registry)["staged"], versions(registry)["active"]
    assert run(["registry", "promote", *where, "batch_rename", staged]) == 3
    assert run(["registry", "activate", *where, "batch_rename", "--approver", "Ada"]) == 2
    assert f"not of a name (waiting: {staged[:12]})" in capsys.readouterr().err
    assert run(["registry", "approve", *where, "batch_rename", staged, "--approver", "Ada"]) == 0
    assert versions(registry) == {"active": staged, "archived": first}
    capsys.readouterr()
    assert run(["registry", "diff", *where, "batch_rename", first]) == 0
    assert "+    changed = 0 + 0" in capsys.readouterr().out
    assert run(["registry", "rollback", *where, "batch_rename"]) == 0
    assert versions(registry)["active"] == first
    capsys.readouterr()
    assert run(["registry", "history", *where, "batch_rename"]) == 0
    assert "Ada" in capsys.readouterr().out


def test_exports_are_a_verb_of_the_registry_too(registry: Path, tmp_path: Path) -> None:
    """The same as `assay export`."""
    more = ["--to", "agentskills", "--registry", str(registry)]
    assert run(["registry", "export", *more, "-o", str(tmp_path / "a")]) == 0
    assert run(["export", *more, "-o", str(tmp_path / "b")]) == 0
    files = [sorted(p.relative_to(tmp_path / d) for p in (tmp_path / d).rglob("*")) for d in "ab"]
    assert files[0] == files[1] != []


def test_feedback_compares_with_before(registry: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Success rate of the task's traces, and of the outcomes since."""
    for outcome in ("ok", "ok", "fail", "ok"):
        assert run(["feedback", "--registry", str(registry), "batch_rename", outcome]) == 0
    assert "25% of its task's traces succeeded, 75% of 4 since" in capsys.readouterr().out.splitlines()[-1]


def test_bench_scores_come_first(registry: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bench score seeds before the measured one, for our router and for others; without it the measured one counts again."""
    where = ["--registry", str(registry)]

    def seeds() -> dict[str, int]:
        assert run(["registry", "seeds", *where, "--format", "json"]) == 0
        return dict(json.loads(capsys.readouterr().out)["seeds"])

    measured = seeds()["batch_rename"]
    assert run(["registry", "bench", "batch_rename", "1", *where]) == 0
    assert "bench score 1; 5 seeds" in capsys.readouterr().out
    assert seeds() == {"batch_rename": 5}
    assert run(["registry", "bench", "batch_rename", *where]) == 0
    assert f"no bench score; {measured} seeds" in capsys.readouterr().out
    assert seeds() == {"batch_rename": measured}
    assert run(["registry", "bench", "nobody", "1", *where]) != 0


def test_verify_without_an_engine_demotes_nobody(registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be checked has not drifted."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent.sock")
    before = versions(registry)
    assert run(["registry", "verify", "--registry", str(registry)]) == 3
    assert versions(registry) == before
    assert Metrics(Path(".assay/evolution/metrics.json")).values()["skills_demoted"] == 0


@pytest.mark.engine
def test_drift_demotes_and_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A registered skill that fails now is staged again, without a score, and no longer routed to."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".assay" / "evolution").mkdir(parents=True)
    made = draft()
    args = {t.task_id: dict(zip(("old_ext", "new_ext"), _extensions(t), strict=True)) for t in made.evidence}
    wrong = replace(made, source=made.source.replace('f".{new_ext}"', 'f".{new_ext}x"'), bindings=args)
    with Registry(tmp_path / "registry") as opened:
        opened.register(wrong, report(wrong))
    where = ["--registry", str(tmp_path / "registry")]
    assert run(["route", *where, "rename txt files to md"]) == 0
    capsys.readouterr()
    assert run(["registry", "verify", *where, "--budget", "fast", "--format", "json"]) == 1
    (skill,) = json.loads(capsys.readouterr().out)["skills"]
    assert (skill["verdict"], skill["after"]) == ("FAIL", None)
    assert list(versions(tmp_path / "registry")) == ["staged"]
    assert Metrics(Path(".assay/evolution/metrics.json")).values()["skills_demoted"] == 1
    assert run(["route", *where, "rename txt files to md"]) == 4


@pytest.mark.engine
def test_running_a_skill_says_how_it_stands(registry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One that waits is run, and said to wait; one in use, and a file, need no word."""
    with Registry(registry) as opened:
        opened.register(draft("other_rename"), report(draft("other_rename")), require_approval=True)
    (tmp_path / "work").mkdir()
    told = []
    for skill in ("batch_rename", "other_rename", str(SKILLS / "rename_ext")):
        args = ["--args", '{"old_ext": "txt", "new_ext": "md"}', "--workspace", str(tmp_path / "work")]
        run(["run", skill, "--registry", str(registry), *args])
        told.append("is not in use, it is staged" in capsys.readouterr().err)
    assert told == [False, True, False]


@pytest.mark.engine
def test_a_mended_draft_is_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It is verified first: one that fails changes nothing, and says why."""
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "draft"
    shutil.copytree(SKILLS / "rename_ext", place)
    source = (place / "skill.py").read_text()
    (place / "skill.py").write_text(source.replace("return {", 'Path("left").touch()\n    return {'))
    monkeypatch.setenv("CI", "")
    keygen(tmp_path / "key", tmp_path / "key.pub")
    Path("assay.yaml").write_text("registry:\n  signing_key: key\n")
    command = ["registry", "add", str(place), "--registry", "skills", "--budget", "fast"]
    assert run(command) == 1
    assert "left" in capsys.readouterr().out
    (place / "skill.py").write_text(source)
    assert run(command) == 0
    assert "is active (score at least 0." in capsys.readouterr().out
    with Registry(tmp_path / "skills") as opened:
        (added,) = opened.list(None)
    assert (added.status, added.metadata["generator"]) == ("active", "hand")
    assert read_attestations(attestation_path(Path(added.path)))
    assert run(["crystallize", str(place / "evidence.jsonl"), "--registry", "skills", "--format", "json"]) == 0
    (outcome,) = json.loads(capsys.readouterr().out)["patterns"]
    assert outcome["why"].startswith("it is registered for this task")


def _extensions(trace: ExecutionTrace) -> tuple[str, str]:
    """What the factory's traces rename from and to."""
    (before,), (after,) = trace.workspace or {}, trace.post_workspace or {}
    return before.rpartition(".")[2], after.rpartition(".")[2]


@pytest.mark.engine
def test_the_reproduce_line_works_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also for a skill whose evidence lies elsewhere, in a directory that a shell would take apart."""
    monkeypatch.chdir(tmp_path)
    elsewhere = tmp_path / "it's here"
    shutil.copytree(BROKEN, elsewhere)
    skill = tmp_path / "draft.py"
    (elsewhere / "skill.py").rename(skill)
    named = ["--evidence", str(elsewhere / "evidence.jsonl"), "--bindings", str(elsewhere / "bindings.json")]
    assert run(["verify", str(skill), *named, "--budget", "fast", "--no-cache", "--format", "json"]) == 1
    checks = json.loads(capsys.readouterr().out)["checks"]
    finding = next(f for c in checks for f in c["findings"] if f["reproduce"])
    words = shlex.split(finding["reproduce"])
    assert words[0] == "assay"
    assert str(elsewhere / "evidence.jsonl") in words
    assert run(words[1:]) == 1
    assert finding["message"].splitlines()[0] in capsys.readouterr().out


def test_a_registered_version_is_never_fixed_in_place(registry: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its bytes are what was verified."""
    with Registry(registry) as opened:
        file = Path(opened.show("batch_rename").path) / "skill.py"
    before = file.read_bytes()
    assert run(["verify", "--fix", str(file)]) == 2
    assert "never changes" in capsys.readouterr().err
    assert file.read_bytes() == before


def test_one_edited_export_does_not_stop_the_others(registry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a person edited stays, is said, and the rest is written."""
    other = replace(draft(), name="zoo", source=draft().source.replace("changed = 0", "changed = 0 + 0 + 0"))
    with Registry(registry) as opened:
        opened.register(other, report(other))
    command = ["export", "--to", "agentskills", "-o", str(tmp_path / "e"), "--registry", str(registry)]
    assert run(command) == 0
    first, second = sorted((tmp_path / "e").iterdir())
    (first / "SKILL.md").write_text("by hand")
    shutil.rmtree(second)
    assert run(command) == 2
    assert "edited" in capsys.readouterr().err
    assert ((first / "SKILL.md").read_text(), second.is_dir()) == ("by hand", True)


@pytest.mark.engine
def test_a_registered_skill_and_its_parameters_are_renamed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is judged anew with its recordings, stays in use under the new name, and the form of before is archived."""
    where = ["--registry", str(tmp_path / "skills")]
    assert run(["registry", "add", str(SKILLS / "rename_ext"), *where, "--budget", "fast"]) == 0
    assert run(["registry", "rename", "rename_ext", *where]) == 2
    assert run(["registry", "rename", "rename_ext", *where, "--parameter", "nope=x"]) == 2
    assert "It has: old_ext, new_ext" in capsys.readouterr().err
    argv = [
        "registry",
        "rename",
        "rename_ext",
        *where,
        "--to",
        "change_suffix",
        "--parameter",
        "old_ext=suffix",
        "--describe",
        "suffix=What names end in",
        "--budget",
        "fast",
    ]
    assert run(argv) == 0
    assert "change_suffix " in (told := capsys.readouterr().out)
    assert "is active (suffix: str, new_ext: str; score at least 0." in told
    with Registry(tmp_path / "skills") as opened:
        assert {(e.name, e.status) for e in opened.list(None)} == {("rename_ext", "archived"), ("change_suffix", "active")}
        assert all(set(args) == {"suffix", "new_ext"} for args in opened.draft("change_suffix").bindings.values())
        assert "What names end in" in opened.draft("change_suffix").source
    assert run(["run", "rename_ext", *where, "--workspace", str(tmp_path)]) == 2
    assert "it is archived (renamed to change_suffix" in capsys.readouterr().err
    assert run(["registry", "rename", "change_suffix", *where, "--parameter", "new_ext=final_ext", "--budget", "fast"]) == 0
    with Registry(tmp_path / "skills") as opened:
        assert [e.status for e in opened.versions_of("change_suffix")] == ["archived", "active"]


def test_what_passes_no_more_is_not_applied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On a copy it may be looked at; its effects do not come back."""
    with Registry(tmp_path / "skills") as opened:
        opened.register(draft(), report(draft()))
        opened.demote("batch_rename", opened.show("batch_rename").version, "no longer passes")
    (tmp_path / "w").mkdir()
    where = ["--registry", str(tmp_path / "skills"), "--workspace", str(tmp_path / "w")]
    assert run(["run", "batch_rename", *where, "--args", '{"old_ext": "a", "new_ext": "b"}', "--apply"]) == 2
    told = capsys.readouterr().err
    assert "it no longer passes: its effects are not applied. To see why: assay registry verify batch_rename" in told


def test_what_was_retired_is_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By its name: the way back is said, unless it is retired forever."""
    with Registry(tmp_path / "skills") as opened:
        opened.register(draft(), report(draft()))
    where = ["--registry", str(tmp_path / "skills")]
    argv = ["run", "batch_rename", *where, "--args", '{"old_ext": "a", "new_ext": "b"}', "--workspace", str(tmp_path)]
    for how, told in (
        ([], "it is archived: what was retired is not run. To put it in use again: assay registry activate batch_rename"),
        (["--forever"], "it is revoked: what was retired is not run. It was retired forever"),
    ):
        assert run(["registry", "retire", "batch_rename", *where, *how]) == 0
        assert run(argv) == 2
        assert told in capsys.readouterr().err
