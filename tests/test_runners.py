"""The programs that run our hooks, workflow and job, on the guides' own configurations: pre-commit, act and gitlab-ci-local.

Wants pre-commit and act in the environment ``runners`` of the directory that ``ASSAY_FRAMEWORKS`` names, as
``.ci/frameworks/make`` makes it, and gitlab-ci-local in the directory that ``ASSAY_AGENTS`` names.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from environments import downloadable, missing
from transcripts import keep

ENVIRONMENTS, AGENTS = os.environ.get("ASSAY_FRAMEWORKS", ""), os.environ.get("ASSAY_AGENTS", "")
pytestmark = [
    pytest.mark.skipif(not ENVIRONMENTS, reason="ASSAY_FRAMEWORKS names no directory with environments"),
    pytest.mark.engine,
]
ROOT = Path(__file__).parents[1]
GUIDES = ROOT / "docs" / "integrations"
PACKAGED = ("pyproject.toml", "README.md", "LICENSE", "skill_assay.py", "skill_assay.pth", "synth", "sandbox", "verifiers")
SKILL = "assets/skills/rename_ext/skill.py"
WORKFLOW = ".github/workflows/assay-gate.yml"
ACTION = """
name: stands in for an action that only GitHub's machines can get
runs:
  using: composite
  steps: [{shell: bash, run: "env | grep ^INPUT_ || true"}]
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment into which jobs may install, and the wheel that they install."""
    there = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", there / "venv"], check=True)
    pip = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", there / "wheels", ROOT)
    subprocess.run(pip, check=True)
    return there


@pytest.fixture
def env(tmp_path: Path, installed: Path) -> dict[str, str]:
    """A home of its own, and the locked versions for every pip."""
    (tmp_path / "home").mkdir()
    who = {f"GIT_{role}_{what}": "ada" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    kept = {name: value for name, value in os.environ.items() if name == "DOCKER_HOST" or name.startswith("PIP_")}
    path = f"{installed / 'venv' / 'bin'}:{ENVIRONMENTS}/runners/bin:{AGENTS}:/usr/local/bin:/usr/bin:/bin"
    locked = {"PIP_CONSTRAINT": str(ROOT / ".ci" / "constraints.txt"), "PIP_QUIET": "1", "PIP_NO_COMPILE": "1"}
    return {"PATH": path, "HOME": str(tmp_path / "home"), "VIRTUAL_ENV": str(installed / "venv"), **who, **kept, **locked}


@pytest.fixture(scope="module")
def wheel(installed: Path) -> Path:
    (made,) = (installed / "wheels").glob("*.whl")
    return made


def run(words: str, cwd: Path, env: dict[str, str]) -> tuple[int, str]:
    done = subprocess.run(words, shell=True, cwd=cwd, env=env, stdout=-1, stderr=subprocess.STDOUT, text=True, check=False)
    keep(f"$ {words}\n{done.stdout}[{done.returncode}]\n")
    return done.returncode, done.stdout


def project(tmp_path: Path, env: dict[str, str]) -> Path:
    """A repository with one skill, pushed."""
    there = tmp_path / "project"
    shutil.copytree(ROOT / "fixtures" / "skills", there / "assets" / "skills")
    made = "git init -q -b main && git add -A && git commit -qm skills && git init -q --bare ../origin"
    assert run(f"{made} && git remote add origin ../origin && git push -q origin main", there, env)[0] == 0
    return there


def configuration(guide: str, **names: str) -> str:
    """What a guide shows, with the reader's own names."""
    (shown,) = re.findall(r"(?ms)^```yaml\n(.*?)^```$", (GUIDES / guide).read_text(encoding="utf-8"))
    return re.sub(r"<(\w[\w ]*)>", lambda found: names[found[1].replace(" ", "_")], shown)


def edit(skill: Path, old: str, new: str) -> None:
    text = skill.read_text(encoding="utf-8")
    assert old in text
    skill.write_text(text.replace(old, new), encoding="utf-8")


def wanted() -> None:
    if said := missing(Path(ENVIRONMENTS), "runners", 300, downloadable):
        pytest.skip(said)


def test_pre_commit_stops_a_commit_and_a_push(tmp_path: Path, env: dict[str, str]) -> None:
    """Installed as the guide says: text that breaks a rule cannot be committed, a wrong effect cannot be pushed."""
    wanted()
    ours = tmp_path / "ours"
    ours.mkdir()
    for name in (*PACKAGED, ".pre-commit-hooks.yaml"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, ours / name)
    assert run("git init -q && git add -A && git commit -qm assay && git tag v0.1.0", ours, env)[0] == 0
    there = project(tmp_path, env)
    (there / ".pre-commit-config.yaml").write_text(configuration("pre-commit.md", this_repository=f"file://{ours}"))
    skill = there / SKILL
    assert run("pre-commit install -t pre-commit -t pre-push && git add -A", there, env)[0] == 0
    code, said = run("git commit -qm hooks", there, env)
    assert code == 0, said

    edit(skill, "import os\n", "import os\nimport socket\n")
    code, said = run("git commit -qam socket", there, env)
    assert (code, "FAIL[conventions" in said) == (1, True), said
    edit(skill, "import socket\n", "")
    edit(skill, '+ f".{new_ext}")', '+ f".{new_ext}~")')
    code, said = run("git commit -qam tilde", there, env)
    assert (code, "Passed" in said) == (0, True), said
    code, said = run("git push -q origin main", there, env)
    assert (code != 0, "FAIL[effect-equivalent" in said) == (True, True), said
    code, said = run("git revert --no-edit HEAD && git push -q origin main", there, env)
    assert code == 0, said


def act(there: Path, ours: Path, standing_in: Path, env: dict[str, str]) -> tuple[int, str]:
    """The caller's workflow as GitHub would run it, on this machine."""
    steps = [step for job in yaml.safe_load((ours / WORKFLOW).read_text())["jobs"].values() for step in job["steps"]]
    local = {"me/ours@v0.1.0": ours}
    for uses in (step["uses"] for step in steps if "uses" in step):
        name, _, commit = uses.partition("@")
        repository = "/".join(name.split("/")[:2])
        local[f"{repository}@{commit}"] = standing_in / repository
        (standing_in / name).mkdir(parents=True, exist_ok=True)
        (standing_in / name / "action.yml").write_text(ACTION)
    mapped = " ".join(f"--local-repository {name}={path}" for name, path in local.items())
    return run(f"act pull_request -P ubuntu-latest=-self-hosted {mapped}", there, env)


def test_the_workflow_judges_a_pull_request(tmp_path: Path, env: dict[str, str], wheel: Path) -> None:
    """Called as the guide shows: what did not change is not judged, what is wrong fails the job, and its reports are kept."""
    wanted()
    ours = tmp_path / "ours"
    (ours / WORKFLOW).parent.mkdir(parents=True)
    shutil.copy(ROOT / WORKFLOW, ours / WORKFLOW)
    there = project(tmp_path, env)
    caller = yaml.safe_load(configuration("github-actions.md", owner="me", repository="ours"))
    caller["jobs"]["gate"]["with"]["package"] = str(wheel)
    (there / ".github" / "workflows").mkdir(parents=True)
    (there / ".github" / "workflows" / "skills.yml").write_text(json.dumps({"on": caller[True], "jobs": caller["jobs"]}))
    code, said = act(there, ours, tmp_path / "actions", env)
    assert (code, "1 skill did not change" in said) == (0, True), said
    edit(there / SKILL, '+ f".{new_ext}")', '+ f".{new_ext}~")')
    code, said = act(there, ours, tmp_path / "actions", env)
    assert code == 1, said
    assert re.search(r"file=assets/skills/rename_ext/skill.py,line=\d+,title=assay FAIL\[effect-equivalent\]", said), said
    for step in ("Keep the reports", "Code scanning"):
        assert f"Success - Main {step}" in said, said


def test_gitlabs_job_gates(tmp_path: Path, env: dict[str, str], wheel: Path) -> None:
    """The guide's job: green with its reports, and red for what breaks a rule."""
    if not all(shutil.which(program, path=env["PATH"]) for program in ("gitlab-ci-local", "rsync")):
        pytest.skip("gitlab-ci-local or the rsync that it needs is not there")
    there = project(tmp_path, env)
    (there / ".gitlab-ci.yml").write_text(configuration("gitlab.md"))
    job = f"gitlab-ci-local --force-shell-executor --variable ASSAY_PACKAGE={wheel} assay"
    assert run("git remote set-url origin git@gitlab.example:me/project.git && git add -A", there, env)[0] == 0
    code, said = run(job, there, env)
    assert (code, "1 skill: 1 pass" in said) == (0, True), said
    assert json.loads((there / "quality.json").read_text()) == []
    edit(there / SKILL, "import os\n", "import os\nimport socket\n")
    code, said = run(job, there, env)
    assert (code != 0, "1 skill: 0 pass, 1 fail" in said) == (True, True), said
