"""Work with git is replayed in the sandbox as it was recorded: also what is published, to a repository of the same workspace."""

from __future__ import annotations

from pathlib import Path

import pytest
from repositories import make

from sandbox import open_sandbox
from synth.tracing.record import record
from synth.tracing.traces import to_evidence
from verifiers.expectation.oracle import replay

PATCH = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"
WORK = {
    "commit": ["git add -A", "git commit -q -m 'Say more'"],
    "publish": ["git commit -q -a -m 'Say more' && git push -q origin main"],
    "move and remove": ["git mv a.txt c.txt", "git rm -q b.txt", "git commit -q -m 'Move and remove'"],
    "tag": ["git tag v1", "git push -q origin v1"],
    "branch": ["git branch side", "git switch -q side", "git commit -q -a -m 'On the side'", "git push -q origin side"],
    "restore": ["git restore a.txt"],
    "apply": ["git restore a.txt", "git apply change.patch"],
    "pull": ["git restore a.txt", "git pull -q origin newer"],
    "clone": ["git clone -q --bare ../hub.git ../again.git && git -C ../again.git remote remove origin"],
}


@pytest.mark.engine
def test_every_kind_of_work_is_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No identity, date or network of the recording's machine is needed."""
    for key, value in {"AUTHOR_NAME": "Ada", "AUTHOR_EMAIL": "a@b", "COMMITTER_NAME": "Ada", "COMMITTER_EMAIL": "a@b"}.items():
        monkeypatch.setenv(f"GIT_{key}", value)
    recorded = []
    for name, commands in WORK.items():
        made = make(tmp_path / name / "work")
        made.commit("Begin", {"a.txt": "one\n", "b.txt": "b\n", "change.patch": PATCH})
        made.git("init", "-q", "--bare", "-b", "main", "../hub.git")
        made.git("remote", "add", "origin", "../hub.git")
        made.git("push", "-q", "origin", "main")
        made.git("switch", "-q", "-c", "newer")
        made.commit("Newer", {"n.txt": "n\n"})
        made.git("push", "-q", "origin", "newer")
        made.git("switch", "-q", "main")
        (made.path / "a.txt").write_text("more\n", encoding="utf-8")
        trace = record(name, ["cd work", *commands], tmp_path / name, task_id=name.replace(" ", "-"))
        assert trace.success, (name, trace.outputs)
        recorded.append(to_evidence(trace))
    with open_sandbox() as sandbox, sandbox.session("git-work") as session:
        found = replay(recorded, session)
    assert found.unusable == {}
    assert len(found.usable) == len(WORK)
