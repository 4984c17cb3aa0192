"""Work with git is replayed in the sandbox as it was recorded: also what is published, to a repository of the same workspace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from repositories import Repository, make

from sandbox import open_sandbox
from synth.embedded import EmbeddedGenerator
from synth.interface import TracePattern
from synth.tracing.record import record
from synth.tracing.traces import to_evidence
from verifiers.expectation.oracle import replay
from verifiers.interface import Binding, Evidence, Verdict
from verifiers.subject import parse_subject
from verifiers.verify import Options, verify

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


ELSEWHERE = {
    "git push -q https://example.org/x.git main": "it needs the network, which a replay has not",
    "git push -q git@example.org:x.git main": "command 2 needs the network, which a replay has not",
    "git push -q ../../x.git main": "command 2 needs the repository ../../x.git, which the recording has not",
}
PUBLISH = (
    "git clone -q {hub} copy",
    "cd copy && echo 'version = {version}' > a.txt",
    "git commit -q -am 'Release {version}' && git tag -a v{version} -m 'Version {version}'",
    "git push -q --follow-tags origin main",
)


def with_hub(place: Path) -> Repository:
    """A repository that has published what it has to a bare one beside it."""
    made = make(place / "work")
    made.commit("Begin", {"a.txt": "one\n", "b.txt": "b\n", "change.patch": PATCH})
    made.git("init", "-q", "--bare", "-b", "main", "../hub.git")
    made.git("remote", "add", "origin", "../hub.git")
    made.git("push", "-q", "origin", "main")
    return made


@pytest.fixture(autouse=True)
def _ada(monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in {"AUTHOR_NAME": "Ada", "AUTHOR_EMAIL": "a@b", "COMMITTER_NAME": "Ada", "COMMITTER_EMAIL": "a@b"}.items():
        monkeypatch.setenv(f"GIT_{key}", value)


@pytest.mark.engine
def test_every_kind_of_work_is_replayed(tmp_path: Path) -> None:
    """No identity, date or network of the recording's machine is needed; what would need one is told in one sentence."""
    recorded = []
    for name, commands in WORK.items():
        made = with_hub(tmp_path / name)
        made.git("switch", "-q", "-c", "newer")
        made.commit("Newer", {"n.txt": "n\n"})
        made.git("push", "-q", "origin", "newer")
        made.git("switch", "-q", "main")
        (made.path / "a.txt").write_text("more\n", encoding="utf-8")
        trace = record(name, ["cd work", *commands], tmp_path / name, task_id=name.replace(" ", "-"))
        assert trace.success, (name, trace.outputs)
        recorded.append(to_evidence(trace))
    away = [replace(recorded[0], task_id=c, commands=("cd work", c), post=None, exit_codes=None) for c in ELSEWHERE]
    with open_sandbox() as sandbox, sandbox.session("git-work") as session:
        found = replay([*recorded, *away], session)
    assert len(found.usable) == len(WORK)
    assert {c: why.partition(" (")[0] for c, why in found.unusable.items()} == ELSEWHERE


def published(place: Path, version: str, hub: str) -> Evidence:
    """A recording of a release from a clone: git notes there where it came from, under the recording's own path."""
    with_hub(place)
    commands = [c.format(version=version, hub=hub) for c in PUBLISH]
    trace = record(f"Release {version}", commands, place, task_id=f"release-{version}")
    assert trace.success, trace.outputs
    return to_evidence(trace)


@pytest.mark.engine
def test_a_release_is_learned_and_may_be_repeated(tmp_path: Path) -> None:
    """Commit and publish: cloned, edited, committed, tagged and pushed, without a network, and once only."""
    evidence = [published(tmp_path / f"r{n}", version, "hub.git") for n, version in enumerate(("1.1.0", "2.3.1", "0.10.0"))]
    assert all(e.rewritten and e.workspace_root is None for e in evidence)
    pattern = TracePattern("repetitive", evidence[0].commands, 3, 1.0, "release_clone", "s", ())
    candidate = next(iter(EmbeddedGenerator().generate(pattern, evidence)))
    bindings = {task_id: Binding(task_id, args) for task_id, args in candidate.bindings.items()}
    checks = Options(checks=frozenset({"effect-equivalent", "idempotent-replay"}))
    with open_sandbox() as sandbox:
        report = verify(parse_subject(candidate.source, "s/skill.py"), evidence, bindings, sandbox=sandbox, options=checks)
    assert report.verdict is Verdict.PASS, report.why
