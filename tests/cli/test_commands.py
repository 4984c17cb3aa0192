"""Commands that need no engine: static verification, fix, report, patterns, import, export, attest, registry, route, metrics."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from factories import draft, report
from messages_server import MessagesServer, proposal

from synth.cli import attest
from synth.cli.program import run
from synth.cli.verify import say_what_next
from synth.draft import write_draft
from synth.registry import Registry
from verifiers.formats.json_report import report_from_json
from verifiers.interface import Verdict

ROOT = Path(__file__).parents[2]
RENAME = ROOT / "fixtures" / "skills" / "rename_ext"
TRACES = ROOT / "fixtures" / "demo" / "rename.jsonl"


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    """A registry with one skill in it."""
    made = draft("batch_rename")
    with Registry(tmp_path / "skills") as opened:
        opened.register(made, report(made))
    return tmp_path / "skills"


def test_static_verification_needs_no_engine(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The text alone is judged, the report says that it is partial, and the exit code is the verdict's."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent.sock")
    assert run(["verify", str(RENAME), "--static", "--format", "json", "--no-cache"]) == 0
    found = document(capsys)
    assert (found["schema"], found["verdict"], found["partial"], found["score"]) == ("assay-report/1", "PASS", True, None)


def test_without_an_engine_it_is_inconclusive(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 3, the reason on stderr, every dynamic check listed as not checked with that reason."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent.sock")
    assert run(["verify", str(RENAME), "--format", "json", "--no-cache"]) == 3
    told = capsys.readouterr()
    found = report_from_json(json.loads(told.out))
    assert told.err.startswith("error: ")
    missing = {n.id for n in found.not_checked}
    assert {"effect-equivalent", "idempotent-replay", "crash-convergent"} <= missing


def test_a_skill_without_evidence_is_inconclusive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence that names what to do."""
    (tmp_path / "skill.py").write_text((RENAME / "skill.py").read_text(encoding="utf-8"), encoding="utf-8")
    assert run(["verify", str(tmp_path / "skill.py")]) == 3
    assert "assay record" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("evidence.jsonl", TRACES.read_text(encoding="utf-8")[:700], "evidence.jsonl"),
        ("evidence.jsonl", '{"task_id": 3}', "task_id"),
        ("bindings.json", "[]", "bindings.json"),
        ("bindings.json", '{"t": {"args": {}, "bogus": 1}}', "bogus"),
    ],
)
def test_bad_files_give_one_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, says: str
) -> None:
    """A file cut in half, wrong types, unknown keys: exit 2, one line that names file and field; nothing is lost."""
    for part in RENAME.iterdir():
        (tmp_path / part.name).write_text(part.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert run(["verify", str(tmp_path), "--no-cache"]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert says in lines[0]
    assert (tmp_path / name).read_text(encoding="utf-8") == text


def test_a_skill_with_a_syntax_error_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bad skill is a verdict, not an error: exit 1, with the line."""
    (tmp_path / "skill.py").write_text("def broken(:\n", encoding="utf-8")
    assert run(["verify", str(tmp_path / "skill.py"), "--static", "--no-cache"]) == 1
    assert "FAIL[parses]" in capsys.readouterr().out


def test_a_saved_report_renders_in_every_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is the verdict's, whatever the format; -o writes files whole."""
    saved = tmp_path / "report.json"
    run(["verify", str(RENAME), "--static", "--no-cache", "-o", str(saved)])
    outputs = [str(tmp_path / f"out.{suffix}") for suffix in ("sarif", "xml", "html", "md", "json")]
    assert run(["report", str(saved), *(word for o in outputs for word in ("-o", o))]) == 0
    assert all(Path(o).stat().st_size > 100 for o in outputs)
    assert "PASS" in capsys.readouterr().out


def test_a_saved_gate_keeps_its_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What gave no report still fails the gate when its output is rendered again."""
    (tmp_path / "skill.py").write_bytes(b"\xff")
    saved = tmp_path / "gate.json"
    assert run(["gate", str(tmp_path), "--static", "-o", str(saved)]) == 1
    said = capsys.readouterr().out
    assert run(["report", str(saved)]) == 1
    again = capsys.readouterr().out
    assert said.splitlines()[0] == again.splitlines()[0]
    assert "is not UTF-8 text" in again


def test_configured_packages_choose_the_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`sandbox.packages` names another image, for building it and for using it."""
    from sandbox import image
    from sandbox.recipe import load_recipe
    from synth.cli.home import config
    from synth.cli.settings import Judging

    monkeypatch.delenv("CI", raising=False)  # there no configuration that is found counts
    monkeypatch.chdir(tmp_path)
    (tmp_path / "assay.yaml").write_text("sandbox:\n  packages: [ripgrep]\n", encoding="utf-8")
    assert Judging.of({}, config()).packages == ("ripgrep",)
    recipe = load_recipe(more=["ripgrep"])
    assert set(recipe.packages) == {*load_recipe().packages, "ripgrep"}
    built: list[tuple[str, ...]] = []

    def building(say: object, more: tuple[str, ...], rebuild: bool, *, host: str | None) -> str:
        built.append(tuple(more))
        return "tag"

    monkeypatch.setattr(image, "ensure_image", building)
    assert run(["engine", "image", "--package", "fd-find"]) == 0
    assert built == [("ripgrep", "fd-find")]


def test_fix_applies_what_is_safe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--diff shows and writes nothing; without it the file changes and a second run has nothing to do."""
    file = tmp_path / "skill.py"
    text = (RENAME / "skill.py").read_text(encoding="utf-8").replace("@skill_command(autowire=True)", "@skill_command")
    file.write_text(text, encoding="utf-8")
    run(["verify", "--fix", str(file), "--diff"])
    assert file.read_text(encoding="utf-8") == text
    run(["verify", "--fix", str(file)])
    fixed = file.read_text(encoding="utf-8")
    capsys.readouterr()
    assert run(["verify", "--fix", str(file)]) in (0, 1)
    assert file.read_text(encoding="utf-8") == fixed


def test_patterns_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Six recordings of one task are one pattern, with its traces by name."""
    assert run(["patterns", str(TRACES), "--format", "json"]) == 0
    (pattern,) = document(capsys)["patterns"]  # type: ignore[misc]  # JSON
    assert pattern["pattern_type"] == "repetitive"
    assert len(pattern["task_ids"]) >= 3


def test_a_pattern_of_edits_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Recordings without commands show what they edit; a draft is made of them too."""
    rows = []
    for n in range(3):
        sides = [
            {"type": "file", "mode": "0644", "content_b64": base64.b64encode(f"v = {k}.0\n".encode()).decode()}
            for k in (n, n + 1)
        ]
        rows.append(
            {
                "task_id": f"t{n}", "task_description": f"Release version {n + 1}.0 of it", "commands": [], "outputs": [],
                "success": True, "duration_ms": 0, "timestamp": f"2026-01-0{n + 1}T00:00:00+00:00", "metadata": {},
                "workspace": {"v.py": sides[0]}, "post_workspace": {"v.py": sides[1]},
                "steps": [{"edit": {"path": "v.py", "before": sides[0], "after": sides[1]}}],
            }
        )  # fmt: skip
    file = tmp_path / "edits.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert run(["crystallize", str(file), "--dry-run"]) == 0
    assert "(edit v.py)" in capsys.readouterr().out
    assert run(["crystallize", str(file), "--drafts", str(tmp_path / "drafts")]) == 0
    (folder,) = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert run(["verify", str(folder), "--static", "--no-cache"]) == 0


def test_candidates_become_drafts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`assay synth --drafts` writes what `assay verify` reads; nothing is registered."""
    assert run(["synth", str(TRACES), "--drafts", str(tmp_path / "drafts")]) == 0
    (folder,) = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert {p.name for p in folder.iterdir()} >= {"skill.py", "evidence.jsonl", "bindings.json", "SKILL.md"}
    assert run(["verify", str(folder), "--static", "--no-cache"]) == 0


def test_a_models_exchanges_are_recorded_and_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--llm-record` keeps what `--llm-replay` then needs no key and no network for; what is missing is exit 3."""
    tape = tmp_path / "tape"
    model = ["synth", str(TRACES), "--generator", "anthropic", "--model", "scripted"]
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    with MessagesServer(proposal("X = 1\n", {})) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assert run([*model, "--llm-record", str(tape)]) == 0
    first = capsys.readouterr().out
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert run([*model, "--llm-replay", str(tape)]) == 0
    assert capsys.readouterr().out == first
    assert run([*model, "--llm-replay", str(tmp_path / "empty")]) == 3
    assert "--llm-record" in capsys.readouterr().err


def test_import_appends_and_says_what_it_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Recordings of another tool become traces in a JSONL file."""
    out = tmp_path / "traces.jsonl"
    assert run(["import", str(ROOT / "fixtures" / "importers"), "-o", str(out)]) == 0
    told = capsys.readouterr()
    count = len(out.read_text(encoding="utf-8").splitlines())
    assert told.out.startswith(f"{count} traces imported into ")
    assert "dropped" in told.err


def test_registry_life(registry: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """List, show, archive, restore, history, revoke: each says what is so now."""
    where = ["--registry", str(registry)]
    for command, code, says in (
        (["list"], 0, "batch_rename"),
        (["show", "batch_rename"], 0, "async def batch_rename"),
        (["archive", "batch_rename", "--reason", "unused"], 0, "is archived"),
        (["restore", "batch_rename"], 0, "is active"),
        (["history", "batch_rename"], 0, "archived"),
        (["audit"], None, ""),
        (["revoke", "batch_rename"], 0, "is revoked"),
        (["show", "no_such_skill"], 4, ""),
    ):
        found = run(["registry", command[0], *where, *command[1:]])
        assert code is None or found == code, command
        assert says in capsys.readouterr().out


def test_an_archived_version_is_approved_and_put_back(registry: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``activate`` does both, whatever the version was."""
    where = ["--registry", str(registry)]
    assert run(["registry", "retire", "batch_rename", *where]) == 0
    version = capsys.readouterr().out.split()[1]
    assert run(["registry", "activate", "batch_rename", version, "--approver", "ada", *where]) == 0
    assert "is active" in capsys.readouterr().out


def test_route_and_feedback(registry: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A request in plain words finds the skill; an outcome is counted; nothing fits gives exit 4."""
    where = ["--registry", str(registry)]
    assert run(["route", "rename all txt files to md", *where, "--format", "json"]) == 0
    assert document(capsys)["matches"][0]["skill"] == "batch_rename"  # type: ignore[index]  # JSON
    assert run(["feedback", "batch_rename", "ok", *where]) == 0
    assert "1 ok" in capsys.readouterr().out
    assert run(["route", "transcode a video", *where]) == 4


def test_a_registered_name_wins_over_a_file_here(registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --registry a bare name is the registered skill, even where a draft of that name lies in the current directory."""
    from synth.cli.targets import target_of

    monkeypatch.chdir(tmp_path)
    write_draft(tmp_path, draft("batch_rename", source="# another\n"))
    assert target_of(Path("batch_rename"), registry=registry).skill.is_relative_to(registry)
    assert target_of(Path("batch_rename")).skill == Path("batch_rename/skill.py")


def test_a_kept_draft_that_passes_is_one_command_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of one that was kept for mending it is said; not of a partial look, a failure, or a file elsewhere."""
    from synth.cli.targets import target_of

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRJ_DATA", str(tmp_path / "data"))
    made = draft("batch_rename")
    kept, elsewhere = (target_of(write_draft(place / "drafts", made)) for place in (tmp_path / "data", tmp_path))
    passed = report(made)
    for target, found in (
        (kept, replace(passed, partial=True)),
        (kept, replace(passed, verdict=Verdict.FAIL, score=None)),
        (elsewhere, passed),
    ):
        say_what_next([target], [found], None)
        assert capsys.readouterr().err == ""
    say_what_next([kept], [passed], tmp_path / "my skills")
    wanted = f"next: assay registry add {kept.skill.parent} --registry '{tmp_path / 'my skills'}'\n"
    assert capsys.readouterr().err == wanted


def test_export_for_agentskills(registry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exported directory is where it says; a target is required."""
    assert run(["export", "batch_rename", "--to", "agentskills", "-o", str(tmp_path / "out"), "--registry", str(registry)]) == 0
    assert (tmp_path / "out" / "batch-rename" / "SKILL.md").is_file()
    assert run(["export", "batch_rename", "--to", "omni", "--registry", str(registry)]) == 2


def test_attest_round_trip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Key, signature, verification; a changed file or another key no longer verifies; INCONCLUSIVE is not signed, nor is a report
    that the files do not give (that one which they do is signed, ``test_gate_batch`` shows with an engine)."""
    made = draft("batch_rename")
    folder = write_draft(tmp_path / "drafts", made)
    saved = tmp_path / "report.json"
    from verifiers.formats.json_report import dump, report_to_json
    from verifiers.interface import Verdict

    saved.write_text(dump(report_to_json(report(made))), encoding="utf-8")
    key, public = str(tmp_path / "key"), str(tmp_path / "key.pub")
    assert run(["registry", "attest", "keygen", key]) == 0
    assert run(["registry", "attest", "sign", str(folder), "--report", str(saved), "--key", key]) == 1
    monkeypatch.setattr(attest, "_must_be_found_again", lambda *_: None)
    assert run(["registry", "attest", "sign", str(folder), "--report", str(saved), "--key", key]) == 0
    assert run(["registry", "attest", "verify", str(folder), "--key", public]) == 0
    assert "PASSED" in capsys.readouterr().out
    assert run(["registry", "attest", "keygen", str(tmp_path / "other")]) == 0
    assert run(["registry", "attest", "verify", str(folder), "--key", str(tmp_path / "other.pub")]) == 1
    (folder / "skill.py").write_text("# changed\n", encoding="utf-8")
    assert run(["registry", "attest", "verify", str(folder), "--key", public]) == 1
    saved.write_text(dump(report_to_json(report(made, verdict=Verdict.INCONCLUSIVE, score=None))), encoding="utf-8")
    assert run(["registry", "attest", "sign", str(folder), "--report", str(saved), "--key", key]) == 1


def test_a_signed_failure_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`attest verify && deploy` does not deploy what is signed as FAILED."""
    from verifiers.formats.json_report import dump, report_to_json
    from verifiers.interface import Verdict

    made = draft("batch_rename")
    folder = write_draft(tmp_path / "drafts", made)
    saved, key = tmp_path / "report.json", str(tmp_path / "key")
    saved.write_text(dump(report_to_json(report(made, verdict=Verdict.FAIL, score=None))), encoding="utf-8")
    monkeypatch.setattr(attest, "_must_be_found_again", lambda *_: None)
    assert run(["registry", "attest", "keygen", key]) == 0
    assert run(["registry", "attest", "sign", str(folder), "--report", str(saved), "--key", key]) == 0
    capsys.readouterr()
    assert run(["registry", "attest", "verify", str(folder), "--key", f"{key}.pub"]) == 1
    assert capsys.readouterr().out.startswith("FAILED: ")


def test_metrics_are_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The seed's five, also as Prometheus text."""
    monkeypatch.chdir(tmp_path)
    assert run(["registry", "metrics", "--format", "prometheus"]) == 0
    assert "# TYPE assay_skills_crystallized_total counter" in capsys.readouterr().out


def test_static_gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A tree of drafts, one verdict; one broken file does not hide the others."""
    for name in ("good", "broken"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "skill.py").write_text((RENAME / "skill.py").read_text(encoding="utf-8"), encoding="utf-8")
    assert run(["gate", str(tmp_path), "--static", "--format", "json", "--no-cache"]) == 0
    assert document(capsys)["counts"] == {"pass": 2, "fail": 0, "inconclusive": 0}
    (tmp_path / "broken" / "skill.py").write_text("@skill_command\ndef (:\n", encoding="utf-8")
    assert run(["gate", str(tmp_path), "--static", "--format", "json", "--no-cache"]) == 1
    assert document(capsys)["counts"] == {"pass": 1, "fail": 1, "inconclusive": 0}


def test_the_commit_hook_sees_what_is_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error that git knows already closes the hook; files of no skill open it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "skill.py").write_text("@skill_command\ndef (:\n", encoding="utf-8")
    (tmp_path / "README.md").write_text("# nothing\n", encoding="utf-8")
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]):
        subprocess.run(["git", *words], check=True)
    hook = ["gate", "--static", "--touched", "--no-cache"]
    assert run([*hook, "broken/skill.py", "README.md"]) == 1
    assert "broken" in capsys.readouterr().out  # and not a skill called `skill`
    assert run([*hook, "README.md"]) == 0
    assert "belongs to a skill" in capsys.readouterr().err
    assert run(["gate", ".", "--static", "--since", "origin/HEAD"]) == 2
    assert "git remote set-head origin -a" in capsys.readouterr().err


def test_an_unparsable_draft_has_its_directorys_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In every format that shows names."""
    (tmp_path / "tidy").mkdir()
    (tmp_path / "tidy" / "skill.py").write_text("def broken(:\n", encoding="utf-8")
    assert run(["verify", str(tmp_path / "tidy"), "--static", "--no-cache", "--format", "json"]) == 1
    assert document(capsys)["subject"]["name"] == "tidy"  # type: ignore[index]  # JSON


def test_a_finding_of_bindings_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever id a report shows, `assay verify --explain` knows it."""
    assert run(["verify", "--explain"]) == 0
    assert run(["verify", "--explain", "bindings"]) == 0
    assert "bindings.json" in capsys.readouterr().out


def test_watch_verifies_on_every_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once at the start, again after an edit, not without one; an unreadable edit is shown and survived."""
    file = tmp_path / "skill.py"
    file.write_text((RENAME / "skill.py").read_text(encoding="utf-8"), encoding="utf-8")
    edits = iter([None, "def broken(:\n", None, b"\xff\xfe"])
    really = time.sleep

    def pause(seconds: float) -> None:
        if seconds != 0.5:  # somebody else waits, for a lock say
            really(seconds)
            return
        try:
            edit = next(edits)
        except StopIteration:
            raise KeyboardInterrupt from None
        if edit is not None:
            file.write_bytes(edit.encode() if isinstance(edit, str) else edit)
            os.utime(file, (seconds, len(str(edit))))

    monkeypatch.setattr("synth.cli.verify.sleep", pause)
    assert run(["verify", str(file), "--static", "--watch"]) == 130
    told = capsys.readouterr()
    assert told.err.count("watching ") == 3
    assert len(re.findall(r"^---- \d\d:\d\d:\d\d .*skill.py changed$", told.err, re.MULTILINE)) == 2
    assert told.out.index("1 pass") < told.out.index("FAIL[parses]")
