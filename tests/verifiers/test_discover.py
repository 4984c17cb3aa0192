"""Finding skills, their evidence, and what changed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from verifiers.gating.discover import changed_since, evidence_changed, find, only_changed, owners, shown, with_evidence
from verifiers.interface import ConfigError, Inconclusive, NothingToVerify, SkillFileError

SKILL = "from skill_api import skill_command\n\n\n@skill_command\nasync def f() -> dict[str, object]:\n    return {}\n"


def put(root: Path, *names: str) -> None:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(SKILL if name.endswith(".py") else "{}\n")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_draft_directory(here: Path) -> None:
    """``skill.py`` with what lies beside it; its name is the directory's."""
    put(here, "drafts/tidy/skill.py", "drafts/tidy/evidence.jsonl", "drafts/tidy/bindings.json")
    (target,) = find(["drafts/tidy"])
    assert (target.name, target.path) == ("tidy", "drafts/tidy/skill.py")
    assert [f.name for f in target.files] == ["skill.py", "evidence.jsonl", "bindings.json"]


def test_named_files_come_before_plain_ones(here: Path) -> None:
    """``NAME.evidence.jsonl`` beside NAME.py wins over ``evidence.jsonl``."""
    put(here, "a.py", "b.py", "evidence.jsonl", "a.evidence.jsonl", "b.bindings.json")
    a, b = find(["."])
    assert (a.evidence or here).name == "a.evidence.jsonl"
    assert (b.evidence or here).name == "evidence.jsonl"
    assert a.bindings is None
    assert (b.bindings or here).name == "b.bindings.json"


def test_a_tree(here: Path) -> None:
    """Drafts and decorated files at any depth; libraries, hidden folders and other Python are not skills."""
    put(here, "t/x/skill.py", "t/x/other.py", "t/y/deep/rename.py", "t/skill_api.py", "t/.hidden/z.py", "t/venv/q.py")
    (here / "t/plain.py").write_text("# @skill_command is only named here\nx = '@skill_command'\n")
    (here / "t/omni.py").write_text('from a import b\n@api.decorators.skill_command(name="x")\ndef f(): ...\n')
    assert [t.path for t in find(["t"])] == ["t/omni.py", "t/x/other.py", "t/x/skill.py", "t/y/deep/rename.py"]


def test_files_belong_to_skills(here: Path) -> None:
    """A skill file is its own, evidence and bindings are those of the skill beside them, other files are nobody's."""
    put(here, "d/skill.py", "d/evidence.jsonl", "a.py", "a.bindings.json", "b.py", "c/evidence.jsonl")
    (here / "plain.py").write_text("x = 1\n")
    (here / "e").mkdir()
    (here / "e" / "skill.py").write_text("def broken(:\n")
    for files, wanted in (
        (["d/evidence.jsonl"], ["d/skill.py"]),
        (["a.bindings.json", "a.py"], ["a.py"]),
        (["plain.py", "c/evidence.jsonl", "gone.py", "README.md"], []),
        (["e/skill.py", "b.py"], ["b.py", "e/skill.py"]),
    ):
        assert [t.path for t in owners(files)] == wanted


def test_each_skill_once(here: Path) -> None:
    """Overlapping paths and links name the same skill."""
    put(here, "t/x/skill.py")
    (here / "t/link").symlink_to("x")
    (here / "t/loop").symlink_to(".")
    assert len(find(["t", "t/x", "t/x/skill.py", "t/link"])) == 1


def test_a_given_file_need_not_look_like_a_skill(here: Path) -> None:
    """What the user names is judged, whatever is in it."""
    (here / "broken.py").write_text("def (")
    assert [t.name for t in find(["broken.py"])] == ["broken"]


def test_nothing_there(here: Path) -> None:
    """An empty tree, and a path that does not exist, are different errors with different exit codes."""
    (here / "empty").mkdir()
    with pytest.raises(NothingToVerify, match="no skill in empty") as nothing:
        find(["empty"])
    assert nothing.value.exit_code == 4
    with pytest.raises(SkillFileError) as missing:
        find(["nowhere"])
    assert missing.value.diagnostics().startswith("nowhere: does not exist")
    os.mkfifo(here / "pipe")
    with pytest.raises(SkillFileError, match="neither a file nor a directory"):
        find(["pipe"])


def test_paths_are_relative(here: Path) -> None:
    """Below the working directory or not, never absolute."""
    assert shown(here / "a" / "b.py", here) == "a/b.py"
    assert shown(here.parent / "b.py", here) == "../b.py"


def test_evidence_from_the_registry(here: Path) -> None:
    """Without evidence beside it, the registry's by name; without that, a sentence that names ``assay record``."""
    put(here, "a.py", "registry/a/evidence.jsonl", "registry/a/bindings.json")
    (target,) = find(["a.py"])
    found = with_evidence(target, lambda name: here / "registry" / name)
    assert [f.absolute().parent.name for f in found.files] == [here.name, "a", "a"]
    for registry in (None, lambda name: None, lambda name: here / "elsewhere"):
        with pytest.raises(Inconclusive, match="no evidence for a") as caught:
            with_evidence(target, registry)
        assert "assay record" in caught.value.diagnostics()


# ---------------------------------------------------------------- --since


def git(where: Path, *arguments: str) -> None:
    names = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    subprocess.run(["git", *arguments], cwd=where, check=True, capture_output=True, env={**os.environ, **names})


@pytest.fixture
def repository(here: Path) -> Path:
    put(here, "s/a/skill.py", "s/a/evidence.jsonl", "s/b/skill.py", "s/b/bindings.json", "s/c.py", "s/with space/skill.py")
    git(here, "init", "-q", "-b", "main")
    git(here, "add", ".")
    git(here, "commit", "-q", "-m", "start")
    return here


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        ("s/a/evidence.jsonl", ["a"]),
        ("s/b/notes.md", ["b"]),
        ("s/c.py", ["c"]),
        ("s/c.bindings.json", ["c"]),
        ("s/with space/skill.py", ["with space"]),
        ("README.md", []),
    ],
)
def test_only_what_changed(repository: Path, edit: str, expected: list[str]) -> None:
    """Edited and new files, in the index or not, select their skill."""
    (repository / edit).write_text(SKILL + "# edited\n")
    assert [t.name for t in only_changed(find(["s"]), changed_since("HEAD"))] == expected


def test_deleted_evidence_counts_as_a_change(repository: Path) -> None:
    """A skill whose evidence went away is looked at again."""
    (repository / "s/a/evidence.jsonl").unlink()
    assert [t.name for t in only_changed(find(["s"]), changed_since("HEAD"))] == ["a"]


def test_deleted_bindings_are_changed_evidence(repository: Path) -> None:
    """Taking bindings or evidence away changes what a skill is judged on as much as editing them."""
    (target,) = find(["s/a"])
    assert not evidence_changed(target, changed_since("HEAD"))
    (repository / "s/a/evidence.jsonl").unlink()
    (target,) = find(["s/a"])
    assert evidence_changed(target, changed_since("HEAD"))


def test_decisions_are_changed_evidence(repository: Path) -> None:
    """An answer that nobody has committed changes what the skill is judged by; Target finds it beside the evidence."""
    (target,) = find(["s/a"])
    assert target.decisions is None
    (repository / "s/a/decisions.jsonl").write_text("{}\n")
    assert target.decisions == Path("s/a/decisions.jsonl")
    assert target.decisions in target.files
    assert evidence_changed(target, changed_since("HEAD"))
    assert only_changed(find(["s"]), changed_since("HEAD")) == [target]


def test_before_the_first_commit_everything_is_new(here: Path) -> None:
    """A pre-commit hook runs before there is a HEAD."""
    git(here, "init", "-q")
    put(here, "s/one.py")
    assert changed_since("HEAD") == {here / "s/one.py"}


def test_since_works_below_the_top(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Called in a folder of the work tree, changes are still found."""
    (repository / "s/b/bindings.json").write_text("[]")
    monkeypatch.chdir(repository / "s" / "b")
    assert [t.path for t in only_changed(find(["."]), changed_since("HEAD"))] == ["skill.py"]


@pytest.mark.parametrize("revision", ["no-such-branch", "--output=x", ""])
def test_bad_revisions(repository: Path, revision: str) -> None:
    """An unknown revision, or an option in its place, is a usage error; nothing is written."""
    with pytest.raises(ConfigError):
        changed_since(revision)
    assert not (repository / "x").exists()


def test_no_work_tree(here: Path) -> None:
    """Outside git: one sentence."""
    with pytest.raises(ConfigError, match="git rev-parse failed"):
        changed_since("HEAD", here)


def test_a_linked_draft_is_a_draft(tmp_path: Path) -> None:
    """Whoever loads skills from a directory sees through links; a link to anything else is not followed."""
    draft = tmp_path / "elsewhere" / "one"
    draft.mkdir(parents=True)
    (draft / "skill.py").write_text("x = 1\n")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "linked").symlink_to(draft)
    (tree / "up").symlink_to(tmp_path)
    assert [t.path for t in find([tree], root=tmp_path)] == ["tree/linked/skill.py"]
    assert [t.name for t in find([tree, tmp_path / "elsewhere"], root=tmp_path)] == ["linked"]


def test_an_unreadable_directory_is_not_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may hold a skill: an error that names it, never a gate over the rest."""
    (tmp_path / "locked").mkdir()
    (tmp_path / "skill.py").write_text("x = 1\n")
    real = os.scandir

    def scandir(path: str) -> object:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(SkillFileError, match="cannot be read") as caught:
        find([tmp_path])
    assert "locked" in caught.value.diagnostics()
