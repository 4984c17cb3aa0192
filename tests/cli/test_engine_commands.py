"""Commands in the real sandbox: run, replay, diff, verify and gate, with their exit codes and documents."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from synth.cli.program import run

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]
RENAME = ROOT / "fixtures" / "skills" / "rename_ext"
APPEND = ROOT / "fixtures" / "broken" / "append_line"
ARGS = '{"old_ext": "txt", "new_ext": "md"}'


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a b.txt").write_text("one\n", encoding="utf-8")
    (folder / "keep").write_text("two\n", encoding="utf-8")
    return folder


def test_run_works_on_a_copy(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Value, effects and end state are printed; the directory itself stays as it was."""
    assert run(["run", str(RENAME), "--workspace", str(work), "--args", ARGS, "--format", "json"]) == 0
    found = document(capsys)
    assert found["schema"] == "assay-run/1"
    assert found["value"] == {"ok": True, "changed": 1}
    assert (found["raised"], found["claims_success"]) == (None, True)
    assert found["effects"] == [{"path": "a b.md", "kind": "created"}, {"path": "a b.txt", "kind": "removed"}]
    assert set(found["post_workspace"]) == {"a b.md", "keep"}
    assert sorted(p.name for p in work.iterdir()) == ["a b.txt", "keep"]


def test_run_shows_diffs_before_anything_is_applied(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What text would change to what; the directory stays as it is."""
    assert run(["run", str(APPEND), "--workspace", str(work), "--diff", "--args", '{"file": "keep", "line": "three"}']) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[1:6] == ["--- a/keep", "+++ b/keep", "@@ -1 +1,2 @@", " two", "+three"]
    assert (work / "keep").read_text(encoding="utf-8") == "two\n"


def test_run_applies_when_asked(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--apply copies the effects back, and a second time there is nothing to do."""
    command = ["run", str(RENAME), "--workspace", str(work), "--args", ARGS, "--apply"]
    assert run(command) == 0
    assert sorted(p.name for p in work.iterdir()) == ["a b.md", "keep"]
    assert (work / "a b.md").read_text(encoding="utf-8") == "one\n"
    assert run(command) == 0
    assert "0 effects" in capsys.readouterr().out


def test_commits_are_by_whoever_git_says(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a person's own repository, and now: a run's commit is put in place there."""
    skill = tmp_path / "skill.py"
    skill.write_text(
        "import subprocess\nfrom skill_api import skill_command\n\n\n@skill_command(autowire=True)\n"
        "async def commit() -> dict[str, object]:\n"
        "    subprocess.run(['git', 'commit', '-q', '-a', '-m', 'x'], check=True)\n    return {'ok': True}\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    git = ["git", "-C", str(work), "-c", "user.name=Ada", "-c", "user.email=a@b.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"], ["config", "user.name", "Ada L"]):
        subprocess.run([*git, *words], check=True)
    subprocess.run([*git, "config", "user.email", "ada@b.org"], check=True)
    (work / "keep").write_text("three\n", encoding="utf-8")
    before = int(time.time())
    assert run(["run", str(skill), "--workspace", str(work), "--apply"]) == 0
    log = [*git, "log", "-1", "--format=%an%n%ae%n%cn%n%at"]
    *names, at = subprocess.run(log, check=True, capture_output=True, text=True).stdout.split("\n")[:4]
    assert names == ["Ada L", "ada@b.org", "Ada L"]
    assert before <= int(at) <= time.time()


def test_run_reports_failure_and_applies_nothing(work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A skill that raises is exit 1, with type and line; half-done work is not copied back."""
    skill = tmp_path / "skill.py"
    skill.write_text(
        "from pathlib import Path\nfrom skill_api import skill_command\n\n\n@skill_command(autowire=True)\n"
        "async def half() -> dict[str, object]:\n    Path('new').touch()\n    raise OSError('no')\n",
        encoding="utf-8",
    )
    assert run(["run", str(skill), "--workspace", str(work), "--apply", "--format", "json"]) == 1
    found = document(capsys)
    assert (found["raised"]["type"], found["raised"]["line"]) == ("OSError", 8)
    assert not (work / "new").exists()


def test_verify_fails_with_a_counterexample_that_replays(capsys: pytest.CaptureFixture[str]) -> None:
    """The finding's own command shows it again."""
    import shlex

    assert run(["verify", str(APPEND), "--format", "json", "--no-cache"]) == 1
    found = document(capsys)
    check = next(c for c in found["checks"] if c["verdict"] == "FAIL")
    assert check["id"] == "idempotent-replay"
    words = shlex.split(check["findings"][0]["reproduce"])
    assert words[:2] == ["assay", "replay"]
    words[2] = str(APPEND)
    assert run(words[1:]) == 1
    assert "idempotent-replay" in capsys.readouterr().out


def test_replay_leaves_the_trees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --keep the four trees are there to look at, after a crash at any point."""
    trace = "pub_rename_ext-02"
    keep = tmp_path / "trees"
    assert run(["replay", str(RENAME), "--trace", trace, "--crash-at", "1", "--keep", str(keep)]) == 0
    assert sorted(p.name for p in keep.iterdir()) == ["base", "expected", "first", "second"]
    names = {p.name: sorted(f.name for f in p.iterdir()) for p in keep.iterdir()}
    assert names["second"] == names["expected"] != names["base"]
    assert "ended: killed" in capsys.readouterr().out
    assert run(["replay", str(APPEND), "--trace", "pub_append_line-01"]) == 1


def test_replay_leaves_the_trees_of_a_generated_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is the finding's own start, none of the recorded ones; the skill renames what only ends like the extension."""
    (tmp_path / "s").mkdir()
    text = (RENAME / "skill.py").read_text(encoding="utf-8")
    (tmp_path / "s" / "skill.py").write_text(text.replace('endswith(f".{old_ext}")', "endswith(old_ext)"), encoding="utf-8")
    beside = ["--evidence", str(RENAME / "evidence.jsonl"), "--bindings", str(RENAME / "bindings.json"), "--budget", "fast"]
    keep = tmp_path / "trees"
    command = ["replay", str(tmp_path / "s"), "--check", "generalises", *beside, "--keep"]
    assert run([*command, str(keep)]) == 1
    names = {p.name: sorted(f.name for f in p.iterdir()) for p in keep.iterdir()}
    assert set(names) == {"base", "expected", "first", "second"}
    assert names["first"] != names["expected"]
    assert run(["replay", str(RENAME), "--check", "generalises", "--budget", "fast", "--keep", str(tmp_path / "none")]) == 0
    assert "no finding has a start" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_replay_of_an_unknown_trace_names_the_known(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 4 with the list."""
    assert run(["replay", str(RENAME), "--trace", "nope"]) == 4
    assert "pub_rename_ext-02" in capsys.readouterr().err


def test_diff_tells_behaviour_not_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A comment changes nothing; another extension does, and is said per trace."""
    source = (RENAME / "skill.py").read_text(encoding="utf-8")
    same, other = tmp_path / "same.py", tmp_path / "other.py"
    same.write_text("# a comment\n" + source, encoding="utf-8")
    other.write_text(source.replace('f".{new_ext}")', 'f".x{new_ext}")'), encoding="utf-8")
    assert other.read_text(encoding="utf-8") != source
    beside = ["--evidence", str(RENAME / "evidence.jsonl"), "--bindings", str(RENAME / "bindings.json"), "--budget", "fast"]
    assert run(["verify", str(same), "--against", str(RENAME), *beside]) == 0
    assert capsys.readouterr().out.startswith("0 differences on ")
    assert run(["verify", str(same), "--against", str(RENAME), *beside, "--recorded"]) == 0
    assert run(["verify", str(other), "--against", str(RENAME), *beside]) == 1
    assert "pub_rename_ext-02, run 1: " in capsys.readouterr().out


def test_diff_finds_what_verify_would(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An edit that changes nothing on any recorded start: a dot less, which only a name like `atxt` brings out."""
    edited = tmp_path / "rename_ext"
    edited.mkdir()
    text = (RENAME / "skill.py").read_text(encoding="utf-8")
    broken = text.replace('endswith(f".{old_ext}")', "endswith(old_ext)")
    assert broken != text
    (edited / "skill.py").write_text(broken, encoding="utf-8")
    beside = ["--evidence", str(RENAME / "evidence.jsonl"), "--bindings", str(RENAME / "bindings.json"), "--budget", "fast"]
    assert run(["verify", str(edited), "--against", str(RENAME), *beside, "--recorded"]) == 0
    capsys.readouterr()
    assert run(["verify", str(edited), "--against", str(RENAME), *beside]) == 1
    told = capsys.readouterr().out
    assert "0 differences on" in told
    assert "generalises: PASS, now FAIL" in told
    assert "generated start, " in told


def test_diff_of_two_versions_that_both_fail_compares_them_with_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The old version's first mistake ends its judgement: what the edit changed shows only where both are run on one start."""
    text = (RENAME / "skill.py").read_text(encoding="utf-8")
    broken = text.replace('endswith(f".{old_ext}")', "endswith(old_ext)")
    edited = broken.replace("    ):\n", "    )[:9]:\n")
    assert len({text, broken, edited}) == 3
    for name, source in (("old", broken), ("new", edited)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "skill.py").write_text(source, encoding="utf-8")
    beside = ["--evidence", str(RENAME / "evidence.jsonl"), "--bindings", str(RENAME / "bindings.json"), "--budget", "fast"]
    assert run(["verify", str(tmp_path / "new"), "--against", str(tmp_path / "old"), *beside]) == 1
    told = capsys.readouterr().out
    assert "0 differences on" in told.splitlines()[0]
    assert "FAIL, then FAIL" in told
    assert "generated start, " in told


def test_gate_closes_on_one_failure_and_caches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The house's skills pass, the broken one closes the gate; unchanged, the second time comes from the cache."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CI", raising=False)
    command = ["gate", str(ROOT / "fixtures" / "skills"), str(APPEND), "--budget", "fast", "--format", "json"]
    assert run(command) == 1
    first = document(capsys)
    assert first["schema"] == "assay-gate/1"
    assert first["counts"] == {"pass": 1, "fail": 1, "inconclusive": 0}
    monkeypatch.setattr("synth.cli.verifying.Verifier._verify", None)
    assert run(command) == 1
    assert document(capsys) == first


def test_engine_check_tries_a_family_and_says_what_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0 where all of it is kept; an unknown family is an error that names the known ones."""
    assert run(["engine", "check", "--family", "timing", "--format", "json"]) == 0
    found = document(capsys)
    assert (found["schema"], found["holds"]) == ("assay-conformance/1", True)
    assert [(f["family"], f["broken"]) for f in found["families"]] == [("timing", [])]
    assert found["families"][0]["tried"] >= 10
    assert run(["engine", "check", "--family", "luck"]) == 2
    assert "Known are escape, persistence" in capsys.readouterr().err


def test_engine_sbom_lists_what_the_image_holds(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Packages with versions and programs with digests; of the installation, what it needs."""
    assert run(["engine", "sbom"]) == 0
    image = document(capsys)
    assert {c["name"] for c in image["components"]} >= {"bash", "python3", "coreutils"}
    assert run(["engine", "sbom", "package", "-o", str(tmp_path / "x.json")]) == 0
    assert json.loads((tmp_path / "x.json").read_text())["metadata"]["component"]["name"] == "skill-assay"


def test_wrong_bindings_are_found_in_their_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A parameter that only the file misspells is no fault of a line of code, and the advice exists."""
    for part in RENAME.iterdir():
        (tmp_path / part.name).write_bytes(part.read_bytes())
    file = tmp_path / "bindings.json"
    file.write_text(file.read_text(encoding="utf-8").replace('"old_ext"', '"odl_ext"'), encoding="utf-8")
    assert run(["verify", str(tmp_path), "--no-cache", "--checks", "effect-equivalent", "--format", "json"]) == 3
    (check,) = [c for c in document(capsys)["checks"] if c["id"] == "bindings"]
    assert check["findings"]
    assert {Path(f["path"]).name for f in check["findings"]} == {"bindings.json"}
    assert run(["verify", "--explain", check["id"]]) == 0


def test_swapped_bindings_are_doubted_and_a_wrong_skill_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Values that could be right are only found out by their effects: the finding then names the file, and what would fit."""
    for part in RENAME.iterdir():
        (tmp_path / part.name).write_bytes(part.read_bytes())
    file, code = tmp_path / "bindings.json", tmp_path / "skill.py"
    right, source = file.read_text(encoding="utf-8"), code.read_text(encoding="utf-8")
    command = ["verify", str(tmp_path), "--no-cache", "--checks", "effect-equivalent", "--format", "json"]

    def notes() -> list[str]:
        assert run(command) == 1
        (check,) = [c for c in document(capsys)["checks"] if c["id"] == "effect-equivalent"]
        return [note for f in check["findings"] for note in f["notes"] if note.startswith("bindings: ")]

    file.write_text(right.replace("old_ext", "x").replace("new_ext", "old_ext").replace('"x"', '"new_ext"'), encoding="utf-8")
    doubts = notes()
    assert doubts
    assert all("as the recording says" in note and note.endswith("bindings.json") for note in doubts)
    file.write_text(right, encoding="utf-8")
    code.write_text(source.replace("source.rename(target)", "source.rename(target.with_suffix('.x'))"), encoding="utf-8")
    assert notes() == []


def test_arguments_are_looked_at_before_a_run(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the wrong type, unknown or missing: one sentence with the signature, and nothing runs. One effect is one effect."""
    for args, says in (
        ('{"old_ext": 3, "new_ext": "md"}', "old_ext is no str: 3"),
        ('{"old_ext": "txt"}', "new_ext is missing"),
        ('{"old_ext": "txt", "new_ext": "md", "x": 1}', "there is no argument 'x'"),
    ):
        assert run(["run", str(RENAME), "--workspace", str(work), "--args", args]) == 2
        err = capsys.readouterr().err
        assert says in err
        assert "rename_ext takes old_ext: str, new_ext: str" in err
    (work / "a b.txt").unlink()
    (work / "b.txt").mkdir()
    began = time.monotonic()
    assert run(["run", str(APPEND), "--workspace", str(work), "--args", '{"file": "keep", "line": "x"}']) == 0
    wall = time.monotonic() - began
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("1 effect on a copy of ")
    assert abs(float(last.rpartition("(")[2].split()[0]) - wall) < 0.5


def test_verification_leaves_nothing_in_the_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cache of a library in the user's own directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HYPOTHESIS_STORAGE_DIRECTORY", raising=False)
    done = subprocess.run(
        [sys.executable, "-m", "synth.cli", "verify", str(RENAME), "--no-cache", "--checks", "generalises"],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode in (0, 3), done.stderr
    assert list(tmp_path.iterdir()) == []
