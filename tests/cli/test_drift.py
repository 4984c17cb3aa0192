"""``assay registry drift``: its table, its exit codes, and what it says where there is nothing to compare."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from factories import draft, report
from repositories import Repository, make, released

from synth.cli.program import run
from synth.history.learning import learn
from synth.interface import Draft
from synth.registry import Registry

ROOT = Path(__file__).resolve().parents[2]
SOURCE = '''\
"""Sets the version."""

import re
from pathlib import Path

from skill_api import Query, skill_command


@skill_command(autowire=True)
async def release_version(version: str = Query(..., description="The version")) -> dict[str, object]:
    """Set the version.

    Args:
        version: The version.

    Returns:
        ok.
    """
    for name in ("app.toml", "app.py"):
        text = Path(name).read_text(encoding="utf-8")
        if "beta" in text:
            raise ValueError("a beta is not released")
        Path(name).write_text(re.sub(r'(version\\S* = )"[^"]+"', rf'\\1"{version}"', text), encoding="utf-8")
    return {"ok": True}
'''


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """Beside a registry with a skill learned from six of its nine releases, and one that was not learned from a history."""
    monkeypatch.chdir(tmp_path)
    repository = released(tmp_path / "r", 9)
    traces = learn(repository.path, kind="release").traces
    bindings = {t.task_id: {"version": t.task_description.split()[-1]} for t in traces}
    learned = Draft("release_version", SOURCE, traces, bindings, "# release_version\n")
    with Registry(tmp_path / "skills") as opened:
        for one in (learned, draft()):
            opened.register(one, report(one))
    return repository


def release(made: Repository, version: str, note: str = "") -> None:
    files = {"app.toml": f'name = "app"\nversion = "{version}"\n', "app.py": f'__version__ = "{version}"\n{note}'}
    made.commit(f"Release {version}", {**files, "cite.cff": f"version: {version}\n"})


def drift(made: Repository, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = run(["registry", "drift", str(made.path), *words, "--registry", "skills"])
    told = capsys.readouterr()
    return code, told.out, told.err


@pytest.mark.engine
def test_it_conforms_until_releases_do_more(made: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    """Held out commits conform, an odd one is asked about; then a file more is told, and what the skill refuses is told."""
    release(made, "0.10.0")
    code, out, _ = drift(made, capsys)
    assert code == 0
    assert out.splitlines()[1].split() == ["release_version", "release", "3", "3", "0", "0", "0", "0", "1", "conforms"]
    (asked,) = out.splitlines()[2:]
    assert "Release 0.10.0: also changes cite.cff; the skill does a part of it (cite.cff: " in asked
    assert asked.endswith("): which is right?")
    release(made, "0.11.0")
    made.commit("Note", {"app.py": '__version__ = "0.11.0"\n# beta\n'})
    release(made, "0.12.0", "# beta\n")
    code, out, _ = drift(made, capsys, "release_version", "--format", "json")
    (skill,) = json.loads(out)["skills"]
    assert (code, skill["state"]) == (1, "drifted")
    assert [(c["subject"], c["apart"], c["outcome"]) for c in skill["odd"]] == [
        ("Release 0.10.0", "also changes cite.cff", "in part")
    ]
    assert [c["outcome"] for c in skill["commits"]] == ["right"] * 3 + ["in part", "refused"]
    assert skill["commits"][3]["what"].startswith("cite.cff: content: expected")
    assert skill["commits"][3]["args"] == {"version": "0.11.0"}
    assert skill["commits"][4]["what"] == "raised ValueError: a beta is not released"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["batch_rename"], "batch_rename: was not learned from a repository's history. Verify it: assay registry verify"),
        (["nope"], "no skill 'nope' is registered. See 'assay registry list'"),
    ],
)
def test_nothing_to_check(made: Repository, capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    """One sentence, and exit code 4."""
    code, out, err = drift(made, capsys, *words)
    assert (code, out) == (4, "")
    assert said in err
    assert err.count("\n") == 1


def test_nothing_newer(made: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    """Before the held out ones were made there was nothing that could drift; no sandbox is opened for that."""
    code, out, _ = drift(made, capsys, "--until", "HEAD~6")
    assert (code, out.splitlines()[1].split()[-4:]) == (4, ["has", "no", "newer", "commit"])


def test_another_repository(made: Repository, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """It is not what was learned from, is shallow, or is none at all."""
    other = make(tmp_path / "other")
    other.commit("Begin", {"a": "1"})
    code, out, err = drift(other, capsys, "release_version")
    assert (code, out) == (4, "")
    assert "cannot be compared with release_version: none of the 6 commits that it was learned from is in this history" in err
    code, _, err = drift(other, capsys)
    assert code == 4
    assert err.splitlines()[-1].endswith("no skill of the registry was learned from its history. See: assay import git --help")
    made.git("clone", "-q", "--depth", "3", f"file://{made.path}", str(tmp_path / "shallow"))
    code, _, err = drift(Repository(tmp_path / "shallow"), capsys, "release_version")
    assert (code, "it is shallow (git fetch --unshallow)" in err) == (4, True)
    code, _, err = drift(Repository(tmp_path), capsys)
    assert (code, "is no git repository" in err) == (2, True)
    assert run(["registry", "drift", str(made.path), "--registry", "none"]) == 4


@pytest.mark.engine
@pytest.mark.parametrize(("beta", "pushed"), [("", True), ("# beta\n", False)])
def test_the_bot_of_the_docs_opens_what_a_person_would_have_committed(
    made: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beta: str, pushed: bool
) -> None:
    """Its last step, word for word, in a clone whose origin is a bare repository: a branch with the release, or nothing at all
    where the skill refuses."""
    made.commit("Note", {"app.py": f'__version__ = "0.9.0"\n{beta}'})
    made.git("clone", "-q", "--bare", str(made.path), str(tmp_path / "origin.git"))
    clone = Repository(tmp_path / "clone")
    made.git("clone", "-q", str(tmp_path / "origin.git"), str(clone.path))
    (clone.path / "skills").symlink_to(tmp_path / "skills")
    (clone.path / ".git/info/exclude").write_text("skills\n")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "gh").write_text('#!/bin/sh\necho "$@" > ../opened\n')
    (programs / "gh").chmod(0o755)
    (workflow,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/history.md").read_text(encoding="utf-8"), re.DOTALL)
    step = yaml.safe_load(workflow)["jobs"]["release"]["steps"][-1]
    monkeypatch.setenv("PATH", f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert set(step["env"]) == {"ARGS", "VERSION", "GH_TOKEN"}
    env = {**os.environ, "ARGS": '{"version": "0.10.0"}', "VERSION": "0.10.0", "GH_TOKEN": "-"}
    shell = ["bash", "-e", "-o", "pipefail", "-c"]
    ran = subprocess.run([*shell, step["run"]], cwd=clone.path, env=env, capture_output=True, text=True)
    origin = Repository(tmp_path / "origin.git")
    assert (ran.returncode == 0, "release-0.10.0" in origin.git("branch"), (tmp_path / "opened").exists()) == (pushed,) * 3, ran
    if pushed:
        assert origin.git("show", "--stat=80", "--format=%s", "release-0.10.0").split()[:2] == ["Release", "0.10.0"]
        assert origin.git("show", "release-0.10.0:app.toml") == 'name = "app"\nversion = "0.10.0"'
