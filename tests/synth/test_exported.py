"""Exported skills carry their evidence: they are judged where they are, in any of the three formats, without the registry."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from factories import draft, files_below, report
from test_decided import NEVER, YES

from synth.attest import AttestationError, attestation_path, read_attestations, sign, statement, verify, write_attestation
from synth.cli.program import run
from synth.cli.serve import Offered
from synth.cli.settings import Judging
from synth.cli.targets import target_of
from synth.draft import read_draft
from synth.export import ExportError, skill_of
from synth.export.agentskills import export_agentskills
from synth.export.omni import export_omni
from synth.export.omni_immune import refused
from synth.export.wayland import export_wayland
from synth.export.wayland_files import places
from synth.exported import MARK, edits
from synth.interface import Draft
from synth.owned import is_ours
from synth.registry import Registry
from synth.verification import read_job
from verifiers.decisions import add, decided, home, load_decisions
from verifiers.formats import FORMATS as FORMATS_OF_REPORTS
from verifiers.formats.json_report import report_from_json, report_to_json
from verifiers.gating.discover import find
from verifiers.subject import load_subject
from verifiers.verify import Options

RENAME = Path(__file__).parents[2] / "fixtures" / "skills" / "rename_ext"
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
FORMATS = ("agentskills", "wayland", "omni")


def exports(tmp_path: Path, made: Draft, signed: bool = False, with_evidence: bool = True) -> Mapping[str, Path]:
    """Format -> the exported directory. The registry is gone afterwards."""
    judged = report(made, decisions=tuple(decided(d) for d in made.decisions))
    with Registry(tmp_path / "registry") as registry:
        entry = registry.register(made, judged)
        if signed:
            write_attestation(Path(entry.path), sign(statement(judged, Path(entry.path)), KEY))
        skill = skill_of(registry, entry.name, with_evidence=with_evidence)
        there = places({"WAYLAND_HOME": str(tmp_path / "wayland")}, tmp_path, tmp_path)
        found = {
            "agentskills": export_agentskills(skill, tmp_path / "agentskills"),
            "wayland": export_wayland(skill, registry, places=there).placed[0].directory,
            "omni": export_omni(skill, tmp_path / "omni").directory,
        }
    (tmp_path / "registry").rename(tmp_path / "elsewhere")
    return found


@pytest.mark.parametrize("format", FORMATS)
def test_an_export_is_a_target(tmp_path: Path, format: str) -> None:
    """Named after its directory, with evidence and bindings, and of the profile that its imports tell."""
    path = exports(tmp_path, draft())[format]
    target = target_of(path)
    assert (target.name, target.home) == (path.name, path)
    assert (target.evidence, target.bindings) == (path / "evidence" / "evidence.jsonl", path / "evidence" / "bindings.json")
    assert load_subject(target.skill, None).profile == ("omni" if format == "omni" else "seed")
    assert [t.skill for t in find([path.parent])].count(target.skill) == 1
    assert json.loads((path / "evidence" / "report.json").read_text())["schema"] == "assay-report/1"


@pytest.mark.parametrize("umask", [0o002, 0o077])
@pytest.mark.parametrize("format", FORMATS)
def test_a_copy_under_another_umask_is_no_edit(tmp_path: Path, format: str, umask: int) -> None:
    """As a clone of a repository makes it; a program that is none any more is one, by name."""
    path = exports(tmp_path, draft())[format]
    for each in (path, *path.rglob("*")):
        full = 0o777 if each.is_dir() or each.stat().st_mode & 0o100 else 0o666
        each.chmod(full & ~umask)
    assert edits(path) == []
    assert is_ours(path, MARK)
    program = path / "scripts" / ("commands.py" if format == "omni" else "run.py")
    program.chmod(0o644 if format != "omni" else 0o755)
    assert edits(path) == [f"scripts/{program.name}"]


@pytest.mark.parametrize("format", FORMATS)
def test_an_export_is_read_through_a_link(tmp_path: Path, format: str) -> None:
    """Hosts link to skills that lie elsewhere."""
    path = exports(tmp_path, draft())[format]
    link = tmp_path / "link"
    link.symlink_to(path)
    assert edits(link) == []
    (path / "SKILL.md").write_text("mine")
    assert edits(link) == edits(link / "scripts") == ["SKILL.md"]


@pytest.mark.parametrize("format", FORMATS)
def test_an_export_passes_the_static_checks_where_it_is(tmp_path: Path, format: str) -> None:
    """With no registry, no profile said and no file named."""
    path = exports(tmp_path, read_draft(RENAME))[format]
    assert run(["verify", str(path), "--static", "--no-cache"]) == 0
    assert run(["gate", str(path.parent), "--static", "--no-cache"]) == 0


@pytest.mark.engine
@pytest.mark.parametrize("format", FORMATS)
def test_an_export_is_replayed_where_it_is(tmp_path: Path, format: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In the sandbox, on the evidence that it carries; a defect put into its code is found, and the edit is told."""
    path = exports(tmp_path, read_draft(RENAME))[format]
    command = ["verify", str(path), "--checks", "effect-equivalent", "--no-cache"]
    assert run(command) == 0
    assert "edited" not in capsys.readouterr().out
    code = target_of(path).skill
    code.write_text(code.read_text().replace("{new_ext}", "{new_ext}x"))
    assert run(command) == 1
    assert f"edited since it was exported: scripts/{code.name}" in capsys.readouterr().out


@pytest.mark.engine
def test_a_form_that_omni_lets_in_is_judged_on_the_same_evidence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the note of a refused export offers: without what was refused it passes there, or a difference is found there."""
    made = read_draft(RENAME)
    body = made.source.rindex("    return ")
    running = f'{made.source[:body]}    subprocess.run(["true"], check=True)\n{made.source[body:]}'
    running = running.replace("import os\n", "import os\nimport subprocess\n", 1)
    path = exports(tmp_path / "a", replace(made, source=running))["omni"]
    code = path / "scripts" / "commands.py"
    assert "import subprocess" in refused(code.read_text())
    command = ["verify", str(path), "--checks", "effect-equivalent", "--no-cache"]
    assert run(command) == 0
    form = exports(tmp_path / "b", made)["omni"] / "scripts" / "commands.py"
    assert refused(form.read_text()) == []
    code.write_text(form.read_text())
    assert run(command) == 0
    assert "edited since it was exported: scripts/commands.py" in capsys.readouterr().out


def test_recordings_may_be_left_out(tmp_path: Path) -> None:
    """They hold what their files held."""
    for path in exports(tmp_path, draft(), with_evidence=False).values():
        assert not (path / "evidence").exists()
        assert target_of(path, static=True).evidence is None


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("carried", [True, False])
def test_an_edit_is_told_without_evidence_too(
    tmp_path: Path, format: str, carried: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Left out, or taken away by who edited it: by verify and by gate, which say nothing while it is as it was."""
    path = exports(tmp_path, read_draft(RENAME), with_evidence=carried)[format]
    commands = (["verify", str(path), "--static", "--no-cache"], ["gate", str(path.parent), "--static", "--no-cache"])
    for command in commands:
        assert run(command) == 0
    assert "edited" not in capsys.readouterr().out
    if carried:
        shutil.rmtree(path / "evidence")
    code = target_of(path, static=True).skill
    code.write_text(code.read_text() + "# mine\n")
    for command in commands:
        run(command)
        told = capsys.readouterr().out
        assert "edited since it was exported: " in told
        assert f"scripts/{code.name}" in told


@pytest.mark.parametrize("form", FORMATS_OF_REPORTS)
def test_an_edit_is_told_in_every_form_of_the_report(tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By verify and by gate, however little is said besides; and whoever reads the report again finds it there."""
    path = exports(tmp_path, read_draft(RENAME))["agentskills"]
    options = ["--static", "--no-cache", "--format", form]
    commands = (["-q", "verify", str(path), *options], ["-q", "gate", str(path.parent), *options])
    for command in commands:
        assert run(command) == 0
        assert "edited" not in capsys.readouterr().out
    (path / "SKILL.md").write_text("mine")
    for command in commands:
        assert run(command) == 0
        told = capsys.readouterr().out
        assert "edited" in told
        assert ("SKILL.md" in told) == (form != "badge")  # which names nothing
    if form == "json":
        found = report_from_json(json.loads(told)["reports"][0])
        assert found.edited == ("SKILL.md",)
        assert report_to_json(found)["subject"]["edited"] == ["SKILL.md"]


def test_a_cached_report_tells_of_an_edit_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The code was judged before; the text beside it was not edited then."""
    path = exports(tmp_path, read_draft(RENAME))["agentskills"]
    command = ["verify", str(path), "--static"]
    told = []
    before = (path / "SKILL.md").read_bytes()
    for text in (before, b"mine", before):
        (path / "SKILL.md").write_bytes(text)
        assert run(command) == 0
        told.append("edited since" in capsys.readouterr().out)
    assert told == [False, True, False]


@pytest.mark.parametrize("format", FORMATS)
def test_an_export_without_its_mark_is_no_longer_what_was_exported(tmp_path: Path, format: str) -> None:
    """Gone or damaged: that is an edit itself, and code that is carried byte by byte is compared with what was verified."""
    path = exports(tmp_path, read_draft(RENAME))[format]
    code = target_of(path).skill
    (path / MARK).write_text("{")
    assert edits(path) == [MARK]
    (path / MARK).unlink()
    assert edits(path) == edits(code.parent) == [MARK]
    code.write_text(code.read_text() + "# mine\n")
    assert edits(path) == ([MARK] if format == "omni" else [MARK, "scripts/skill.py"])


COMPILES = (
    ["{code}"],
    ["-c", "import sys; sys.path.insert(0, sys.argv[1]); import {code.stem}", "{code.parent}"],
    ["-m", "compileall", "-q", "{home}"],
)
"""What hosts do that leaves compiled code: the file as a program, imported, or the whole directory ahead of its use."""


@pytest.mark.parametrize("format", FORMATS)
def test_what_a_host_compiles_is_no_edit_and_goes_with_the_next_export(tmp_path: Path, format: str) -> None:
    """Python leaves it before a line of ours is run. Others take their digest of all files: it is what it was after an export."""
    path = exports(tmp_path, read_draft(RENAME))[format]
    before, code = files_below(path), target_of(path).skill
    for words in COMPILES:
        command = [sys.executable, *(word.format(code=code, home=path) for word in words)]
        subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, check=False, timeout=60)
    assert {p.split("/")[1] for p in set(files_below(path)) - set(before)} == {"__pycache__"}
    assert edits(path) == []
    (tmp_path / "elsewhere").rename(tmp_path / "registry")
    assert exports(tmp_path, read_draft(RENAME))[format] == path
    assert files_below(path) == before


def test_a_draft_is_no_export(tmp_path: Path) -> None:
    """Nor is any other directory: nothing of it was edited since."""
    shutil.copytree(RENAME, tmp_path / "draft")
    (tmp_path / "draft" / "skill.py").write_text("x")
    assert edits(tmp_path / "draft") == edits(tmp_path) == edits(tmp_path / "none") == []
    assert read_job(target_of(RENAME), Options(static_only=True), None).edited == ()


def test_over_mcp_an_edit_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the answers of verify and gate."""
    monkeypatch.chdir(tmp_path)
    path = exports(tmp_path, read_draft(RENAME))["wayland"]
    (path / MARK).unlink()
    offered = Offered(Judging(static=True, no_cache=True), tmp_path / "none")
    report = offered.verify(path, lambda text: None)
    gate = offered.gate([path], lambda text: None)
    assert report["subject"]["edited"] == gate["reports"][0]["subject"]["edited"] == [MARK]


def test_a_secret_is_not_handed_on(tmp_path: Path) -> None:
    """Of a skill that was registered by hand: its recordings stay here, and it can go without them."""
    made = draft()
    told = replace(made.evidence[0], outputs=("ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8",))
    made = replace(made, evidence=(told, *made.evidence[1:]))
    with pytest.raises(ExportError, match=f"recording {told.task_id} holds a secret"):
        exports(tmp_path / "a", made)
    for path in exports(tmp_path / "b", made, with_evidence=False).values():
        assert not any(b"ghp_" in data for data in files_below(path).values())


@pytest.mark.parametrize("format", FORMATS)
def test_its_attestation_goes_with_it(tmp_path: Path, format: str) -> None:
    """It is about the version that was exported; after an edit, of the code or of the evidence, it is about nothing."""
    path = exports(tmp_path, draft(), signed=True)[format]
    (envelope,) = read_attestations(attestation_path(path))
    assert verify(envelope, KEY.public_key(), path).result == "PASSED"
    for name in ("scripts/commands.py" if format == "omni" else "scripts/skill.py", "evidence/evidence.jsonl"):
        before = (path / name).read_bytes()
        (path / name).write_bytes(before + b"\n")
        with pytest.raises(AttestationError, match=r"edited since it was exported|about other files"):
            verify(envelope, KEY.public_key(), path)
        (path / name).write_bytes(before)


@pytest.mark.parametrize("format", FORMATS)
def test_answers_given_to_questions_go_with_it(tmp_path: Path, format: str) -> None:
    """They are evidence too; one that is given where the export is joins them, and is no edit."""
    path = exports(tmp_path, draft(decisions=(YES,)))[format]
    target = target_of(path)
    assert target.decisions == path / "evidence" / "decisions.jsonl"
    assert load_decisions(target.decisions) == (YES,)
    assert target.evidence is not None
    add(home(target.skill, target.evidence), [NEVER])
    assert load_decisions(target.decisions) == (YES, NEVER)
    assert edits(path) == []
    target.skill.chmod(0o600)
    (path / "SKILL.md").write_text("mine")
    assert edits(path) == ["SKILL.md"]


@pytest.mark.engine
def test_one_function_of_several_is_replayed_and_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The one that is named, on its own evidence: beside a function that would do something else."""
    path = exports(tmp_path, read_draft(RENAME))["omni"]
    code = (path / "scripts" / "commands.py").read_text()
    first = '@skill_command(name="other", category="read", description="Show nothing.")\ndef other() -> str:\n    return ""\n'
    at = code.index("@skill_command(")
    file = tmp_path / "both.py"
    file.write_text(f"{code[:at]}{first}\n\n{code[at:]}")
    name = load_subject(path / "scripts" / "commands.py", None).name
    for kind in ("evidence.jsonl", "bindings.json"):
        (tmp_path / f"{name}.{kind}").write_bytes((path / "evidence" / kind).read_bytes())
    assert run(["verify", f"{file}::{name}", "--checks", "effect-equivalent", "--no-cache"]) == 0
    assert "4 of 4 traces usable" in capsys.readouterr().out
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "a.txt").write_text("x")
    args = ["--args", '{"old_ext": "txt", "new_ext": "md"}', "--workspace", str(tmp_path / "w")]
    assert run(["run", f"{file}::{name}", *args]) == 0
    assert "created  a.md" in capsys.readouterr().out
    assert run(["run", str(file), *args]) == 4
    assert f"{file.name}::" in capsys.readouterr().err
