"""A gate over many skills: read ahead in one go, judged by what the configuration allows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from synth.cli.program import run
from synth.cli.verifying import Verifier
from verifiers.gating.discover import Target
from verifiers.interface import ImportRules, Report, Subject
from verifiers.source import static
from verifiers.verify import Options, derive_seed

ROOT = Path(__file__).resolve().parents[2]
SOURCE = (ROOT / "fixtures" / "skills" / "rename_ext" / "skill.py").read_text(encoding="utf-8")


@pytest.fixture
def drafts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three skills in a directory with a cache of its own; the second imports a package."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CI", raising=False)
    for number in range(3):
        (tmp_path / f"s{number}").mkdir()
        (tmp_path / f"s{number}" / "skill.py").write_text(f"{SOURCE}# {number}\n", encoding="utf-8")
    second = tmp_path / "s1" / "skill.py"
    second.write_text(SOURCE.replace("from skill_api", "from markdown_it import MarkdownIt\nfrom skill_api"), encoding="utf-8")
    return tmp_path


def verdicts(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    return {s["path"]: s["verdict"] for s in json.loads(capsys.readouterr().out)["skills"]}


def test_linters_start_once(drafts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What is not in the cache is linted in one batch, what is there not at all."""
    batches: list[int] = []
    real = static.ruff_clean.CHECK.run_batch

    def counted(subjects: Sequence[Subject]) -> object:
        batches.append(len(subjects))
        return real(subjects)

    monkeypatch.setattr(static.ruff_clean.CHECK, "run_batch", counted)
    command = ["gate", str(drafts), "--static", "--checks", "parses,ruff-clean", "--format", "json"]
    run(command)
    first = capsys.readouterr().out
    assert batches == [3]
    run(command)
    assert batches == [3]
    assert capsys.readouterr().out == first
    (drafts / "s2" / "skill.py").write_text(f"{SOURCE}# changed\n", encoding="utf-8")
    run(command)
    assert batches == [3, 1]


def test_one_skill_that_breaks_the_judge_is_one_inconclusive_skill(
    drafts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever goes wrong with one, the others get their verdicts."""
    real = Verifier.fresh

    def fresh(self: Verifier, target: Target, origin: None = None) -> Report:
        if target.path.startswith("s0"):
            raise ZeroDivisionError("foreign data")
        return real(self, target, origin)

    monkeypatch.setattr(Verifier, "fresh", fresh)
    assert run(["gate", str(drafts), "--static", "--checks", "parses", "--format", "json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert document["counts"] == {"pass": 2, "fail": 0, "inconclusive": 1}
    assert "ZeroDivisionError: foreign data" in document["failures"][0]["why"]


def test_configured_imports_are_allowed(drafts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A module of `conventions.allow_imports` passes the conventions and mypy; the cache does not mix the two answers."""
    command = ["gate", str(drafts), "--static", "--checks", "conventions,mypy-strict", "--format", "json"]
    assert run(command) == 1
    assert verdicts(capsys) == {"s0/skill.py": "PASS", "s1/skill.py": "FAIL", "s2/skill.py": "PASS"}
    (drafts / "assay.yaml").write_text("conventions:\n  allow_imports: [markdown_it]\n", encoding="utf-8")
    assert run(command) == 0
    assert set(verdicts(capsys).values()) == {"PASS"}


def test_seed_depends_on_allowed_imports() -> None:
    """Two policies about imports are two questions."""
    subject = Subject("x", "x.py", "x")
    allowed = [ImportRules(frozenset(names)) for names in ((), ("a",), ("a", "b"), ("b", "a"))]
    rules = [*allowed, ImportRules(refuse=frozenset("a")), ImportRules(frozenset("b"), frozenset("a"))]
    assert len({derive_seed(subject, [], None, Options(imports=r)) for r in rules}) == 5


@pytest.mark.engine
def test_required_attestation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Only what was signed gets through, and no longer once a byte of it changed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CI", raising=False)
    folder = tmp_path / "rename_ext"
    shutil.copytree(ROOT / "fixtures" / "skills" / "rename_ext", folder)
    verified, key = tmp_path / "report.json", str(tmp_path / "key")
    assert run(["verify", str(folder), "--budget", "fast", "-o", str(verified)]) == 0
    gate = ["gate", str(folder), "--budget", "fast", "--require-attestation", f"{key}.pub", "--format", "json"]
    assert run(["registry", "attest", "keygen", key]) == 0
    assert run(gate) == 3
    assert run(["registry", "attest", "sign", str(folder), "--report", str(verified), "--key", key]) == 0
    assert run(gate) == 0
    (folder / "skill.py").write_text(f"{SOURCE}# one more line\n", encoding="utf-8")
    capsys.readouterr()
    assert run(gate) == 3
    (skill,) = json.loads(capsys.readouterr().out)["skills"]
    assert skill["reasons"] == ["no attestation under the required key holds for these files"]


def test_a_step_summary_that_cannot_be_written_is_a_warning(
    drafts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The gate's verdict does not hang on a courtesy; where there is room the summary is added to what is there."""
    command = ["gate", str(drafts / "s0"), "--static", "--checks", "parses", "--format", "github"]
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "/dev/full")
    assert run(command) == 0
    assert "warning: no step summary: /dev/full: cannot be written: No space left on device" in capsys.readouterr().err
    summary = drafts / "summary.md"
    summary.write_text("# Before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert run(command) == 0
    assert summary.read_text().startswith("# Before\n")
    assert "s0" in summary.read_text()
