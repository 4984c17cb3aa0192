"""Commands of git in their repeatable form: done once, they may be run again on their own result."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from repositories import Repository, make

from synth.embedded.emit_shell import script_of
from verifiers.shell.parse import parse

PATCH = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"
ONCE = [
    "git commit -qam 'Say more'", "git add b.txt; git commit -q -m 'Say more'", "git tag v1", "git tag -a v1 -m 'Version 1'",
    "git tag -am 'Version 1' v1 HEAD", "git tag -d old", "git branch side", "git branch side HEAD", "git branch -D other",
    "git branch -m other another", "git switch -q -c side", "git checkout -q -b side", "git mv b.txt c.txt", "git rm -q b.txt",
    "git rm -q --cached b.txt", "git apply change.patch", "git apply < change.patch", "git clone -q . ../copy",
    "git clone -q --bare . ../copy.git", "git remote add up ../up.git", "git -C . tag v1", "git push -q ../hub.git main",
    "git fetch -q ../hub.git && git merge -q --ff-only FETCH_HEAD", "git restore b.txt", "git switch -q other",
]  # fmt: skip
SAME = [
    "git tag", "git tag -l 'v*'", "git tag -f v1", "git branch --list", "git branch -u origin/main", "git commit --amend -qm x",
    "git switch main", "git checkout -- a.txt", "git apply --check change.patch", "git apply -R change.patch", "git status",
    "git log -1", "git remote -v", "git push origin main", "git clone $url", "git", "git -C", "git mv a b c d", "git tag -a -m",
]  # fmt: skip
"""Commands that may be repeated anyway, or of which nobody can say whether they were done."""


@pytest.fixture
def made(tmp_path: Path) -> Repository:
    """A repository with a change that is not committed, and a bare one beside it."""
    made = make(tmp_path / "work")
    made.commit("Begin", {"a.txt": "one\n", "b.txt": "b\n", "change.patch": PATCH})
    made.git("branch", "other")
    made.git("tag", "old")
    made.git("clone", "-q", "--bare", ".", "../hub.git")
    (made.path / "b.txt").write_text("more\n", encoding="utf-8")
    return made


def bash(made: Repository, text: str) -> subprocess.CompletedProcess[str]:
    env = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@b"}
    environment = {**env, "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(made.path), "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(["bash", "-c", text], cwd=made.path, env=environment, capture_output=True, text=True, check=False)


def state(made: Repository) -> tuple[str, ...]:
    asked = ("for-each-ref", "log --format=%T%s", "status --porcelain", "config --list --local", "symbolic-ref HEAD")
    files = sorted(str(p) for p in made.path.parent.rglob("*") if ".git/" not in str(p))
    return (*(made.git(*words.split()) for words in asked), *files)


@pytest.mark.parametrize("command", ONCE)
def test_the_first_run_does_it_and_the_second_changes_nothing(made: Repository, command: str) -> None:
    """As the commands themselves do on the first."""
    settled = script_of((parse(command),))
    if "rm" in command or "mv" in command or "switch" in command or "merge" in command:
        made.git("restore", "b.txt")
    first = bash(made, settled)
    assert first.returncode == 0, (settled, first.stderr)
    after = state(made)
    second = bash(made, settled)
    assert second.returncode == 0, (settled, second.stderr)
    assert state(made) == after


@pytest.mark.parametrize("command", SAME)
def test_what_may_be_repeated_stays_as_it_is(command: str) -> None:
    """Nothing is put around it."""
    settled = script_of((parse(command),))
    assert "||" not in settled
    assert "if " not in settled


def test_what_cannot_be_done_still_fails(made: Repository) -> None:
    """A file that is not there is no file that was moved; a name that something else has is no clone."""
    (made.path.parent / "copy").mkdir()
    (made.path.parent / "copy" / "mine").write_text("mine", encoding="utf-8")
    for command in ("git mv none.txt c.txt", "git clone -q . ../copy", "git apply none.patch", "git switch -q none"):
        assert bash(made, script_of((parse(command),))).returncode != 0
