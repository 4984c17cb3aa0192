"""Sessions of the project. Each sets up everything it needs, on a machine that has nothing but Python.

python3 -m pip install nox && python3 -m nox -s demo
python3 -m nox -s tests
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nox

nox.options.sessions = ["lint", "types", "tests"]
nox.options.reuse_venv = "yes"
nox.options.error_on_external_run = True

DEMO = ("pub_rename_ext-", "pub_append_line-", "pub_dirs_files_mode-", "pub_remove_empty_dirs-", "noise_pub_list_txt-")
"""Prefixes of task_ids: what the demo shows in a minute, a task among them that is refused and one that is no task."""
LOCK = ".ci/constraints.txt"
"""Exact versions of everything that is installed: a verdict must not change because a linter was released."""

FRAMEWORKS = tuple(sorted(path.stem for path in Path(".ci/frameworks").glob("*.txt")))
"""Those that load an export or speak MCP, and are tried: each in an environment of its own, of the versions of its list."""
IN_TESTS = ("runners", "agno", "deepagents", "pydantic-ai-skills", "strands-agents")
"""Of those, what runs our hooks and workflow, and what loads agentskills folders by itself: tried whenever all tests run."""
AGENTS = {
    "@anthropic-ai/claude-code": "2.1.197",
    "@google/gemini-cli": "0.61.0",
    "@modelcontextprotocol/inspector": "0.15.0",
    "@openai/codex": "0.169.0",
    "gitlab-ci-local": "4.58.0",
}
"""The agents themselves, MCP's inspector and what runs GitLab's jobs, from the npm registry."""
AGENTS_IN_TESTS = ("@anthropic-ai/claude-code", "gitlab-ci-local")
"""Those that are tried whenever all tests run: they are installed in some seconds."""

RIVAL = "verifiers==0.1.14"
"""A distribution that has a package with the name of one of ours."""

EXTRAS = ("dask", "docs", "evolve", "mcp", "openai", "release", "study", "telemetry", "test")


def install(session: nox.Session, *what: str) -> None:
    """Installs ``what`` with the versions of the lock."""
    session.install("--disable-pip-version-check", "-q", "-c", LOCK, *what)


def sandbox(session: nox.Session) -> None:
    """Brings up an engine and the sandbox image, the product's own way. Nothing happens where both are there."""
    session.run("assay", "engine", "up", "--install")
    session.run("assay", "engine", "image")


@nox.session
def lint(session: nox.Session) -> None:
    """ruff with the pinned selection of pyproject.toml."""
    install(session, "ruff")
    session.run("ruff", "check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """mypy --strict on the three packages."""
    install(session, "-e", ".[test]")
    session.run("mypy")


@nox.session
def tests(session: nox.Session) -> None:
    """Every test, those that need a Docker Engine included: a missing engine is a failure, never a skip."""
    install(session, "-e", ".[test,mcp,dask]")
    sandbox(session)
    env = {"ASSAY_ARTEFACTS": str(Path("build/report").resolve()), **axe(session)}
    if session.posargs:
        session.run("pytest", "--durations=0", "--durations-min=4", *session.posargs, env=env)
        return
    folder = session.cache_dir.resolve() / "hosts"
    with making(folder, *IN_TESTS):
        env |= {"ASSAY_FRAMEWORKS": str(folder), **agents(session, session.cache_dir / "agent", *AGENTS_IN_TESTS)}
        session.run("pytest", "-n", "2", "--durations=0", "--durations-min=4", env=env)


@nox.session
def rounds(session: nox.Session) -> None:
    """Every attack and every case of the rounds, of which ``tests`` judges some."""
    install(session, "-e", ".[test]")
    sandbox(session)
    session.run(
        "pytest", "tests/verifiers/test_attacks.py", "tests/verifiers/test_first_contact.py", env={"ASSAY_ALL_CASES": "1"}
    )


@contextmanager
def making(folder: Path, *frameworks: str) -> Iterator[None]:
    """Makes environments while the block runs, in time that it leaves. What waits for one looks at what ``make`` says of it."""
    make = subprocess.Popen(["nice", "-n", "19", ".ci/frameworks/make", str(folder), *frameworks], start_new_session=True)
    try:
        yield
    finally:
        os.killpg(make.pid, signal.SIGTERM)
        make.wait()


def agents(session: nox.Session, folder: Path, *names: str) -> dict[str, str]:
    """Agents' own programs; nothing where there is no npm."""
    if shutil.which("npm") is None:
        session.warn("there is no npm: the agents themselves are not tried")
        return {}
    wanted = [f"{name}@{AGENTS[name]}" for name in names]
    session.run("npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", str(folder), *wanted, external=True)
    return {"ASSAY_AGENTS": str((folder / "node_modules" / ".bin").resolve())}


def axe(session: nox.Session) -> dict[str, str]:
    """axe-core as locked, for the look at the HTML report in a browser; nothing where there is no npm."""
    if shutil.which("npm") is None:
        return {}
    folder = session.cache_dir.resolve() / "axe"  # no create_tmp: the tests' own directories would lie in this repository
    shutil.copytree(".ci/axe", folder, dirs_exist_ok=True)
    npm = ("npm", "ci", "--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
    session.run(*npm, external=True)
    return {"ASSAY_AXE": str(folder / "node_modules" / "axe-core" / "axe.min.js")}


@nox.session
def demo(session: nox.Session) -> None:
    """The main job on recorded traces: crystallize, register, route. ``-- --all`` takes every task of fixtures/traces."""
    install(session, ".")
    sandbox(session)
    folder = Path(session.create_tmp())
    registry = folder / "skills"
    shutil.rmtree(registry, ignore_errors=True)
    traces = demo_traces(folder, everything="--all" in session.posargs)
    session.log("some of the recorded tasks (all of them: python3 -m nox -s demo -- --all)")
    session.run("assay", "crystallize", str(traces), "--registry", str(registry), success_codes=[0, 1, 3])
    session.run("assay", "route", "rename all txt files to md", "--registry", str(registry))


def demo_traces(folder: Path, everything: bool) -> Path:
    """The traces file of the demo: by default a few tasks, so that it ends in a minute or two."""
    source = Path("fixtures/traces/traces.jsonl")
    if everything:
        return source
    chosen = folder / "traces.jsonl"
    lines = source.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if json.loads(line)["task_id"].startswith(DEMO)]
    chosen.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
    return chosen


@nox.session
def bench(session: nox.Session) -> None:
    """Speed of the sandbox against the host, ``docker exec``, fresh containers and other tools, interleaved."""
    install(session, "-e", ".[test]")
    sandbox(session)
    others = Path(session.create_tmp()) / "others"
    session.run("python", "-m", "venv", str(others))
    python = str(others / "bin" / "python")
    wanted = ("-m", "pip", "install", "-q", "-r", "tests/bench/others.txt")
    session.run(python, *wanted, external=True, success_codes=[0, 1])  # without them the rest is measured all the same
    session.run("python", "tests/bench/bench_sandbox.py", "--others", python, *session.posargs)


@nox.session
def study(session: nox.Session) -> None:
    """The gate measures itself: catch rate, false rejects, mutants, flips, calibration, times. Fails when nothing ran.

    ``-- --quick``: a sample of everything. ``-- --write docs``: keep the tables and the plot.
    """
    install(session, "-e", ".[test,study]")
    sandbox(session)
    session.run("python", "tests/study", *session.posargs)


@nox.session
def hosts(session: nox.Session) -> None:
    """A skill in the agents and frameworks that use skills, each in an environment of its own beside ours. Agents need npm."""
    install(session, "-e", ".[test,mcp]")
    sandbox(session)
    folder = session.cache_dir.resolve() / "hosts"
    session.run(".ci/frameworks/make", str(folder), *FRAMEWORKS, external=True)
    env = {"ASSAY_FRAMEWORKS": str(folder), "ASSAY_TRANSCRIPTS": str(folder / "transcripts")}
    env |= agents(session, folder, *AGENTS)
    real = (
        "tests/synth/test_frameworks.py",
        "tests/synth/test_real_agents.py",
        "tests/synth/test_real_lift.py",
        "tests/test_runners.py",
    )
    shutil.rmtree(folder / "transcripts", ignore_errors=True)
    session.run("pytest", *real, "-rs", env=env)
    session.log(f"what was said is kept in {folder / 'transcripts'}")


@nox.session
def beside(session: nox.Session) -> None:
    """Installed beside PyPI's ``verifiers``. Its ``synth`` builds on no Python of today: the test makes one."""
    install(session, "-e", ".[test]")
    folder = session.cache_dir.resolve() / "rivals"
    session.run("pip", "download", "--disable-pip-version-check", "-q", "--no-deps", "-d", str(folder), RIVAL)
    session.run("pytest", "tests/test_beside.py", env={"ASSAY_RIVALS": str(folder)})


@nox.session(reuse_venv=False)
def lock(session: nox.Session) -> None:
    """Writes the lock anew: what is needed at the versions locked so far, nothing else. ``-- --upgrade`` takes the newest."""
    known = () if "--upgrade" in session.posargs else ("-c", LOCK)
    session.install("--disable-pip-version-check", "-q", *known, f".[{','.join(EXTRAS)}]")
    frozen = session.run("python", "-m", "pip", "freeze", "--disable-pip-version-check", silent=True)
    lines = [line for line in str(frozen).splitlines() if "==" in line]
    Path(LOCK).write_text("\n".join(lines) + "\n", encoding="utf-8")
    session.log(f"{LOCK}: {len(lines)} packages")


@nox.session
def release(session: nox.Session) -> None:
    """Builds wheel and sdist twice and compares them byte by byte; writes them and their bill of materials to dist/."""
    install(session, ".[release]")
    when = str(session.run("git", "log", "-1", "--format=%ct", external=True, silent=True)).strip()
    fixed = {"SOURCE_DATE_EPOCH": when, "PIP_CONSTRAINT": str(Path(LOCK).resolve())}
    found = []
    for folder in (Path("dist"), Path(session.create_tmp()) / "again"):
        shutil.rmtree(folder, ignore_errors=True)
        session.run("python", "-m", "build", "--outdir", str(folder), ".", env=fixed, silent=True)
        found.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())})
    if not found[0] or found[0] != found[1]:
        session.error(f"two builds differ: {found[0]} and {found[1]}")
    session.run("assay", "engine", "sbom", "package", "-o", "dist/skill-assay.cdx.json", env=fixed)
    for name, digest in found[0].items():
        session.log(f"{digest}  {name}")


@nox.session
def readme(session: nox.Session) -> None:
    """Writes the README's output blocks and the manual of the checks anew, by running the program."""
    install(session, "-e", ".[test]")
    sandbox(session)
    session.run("python", "tests/readme_blocks.py", "--write")


@nox.session
def docs(session: nox.Session) -> None:
    """Builds the documentation site below build/site. Fails on a dead link, a page outside the navigation, or a page that would
    load something from elsewhere."""
    install(session, *nox.project.load_toml("pyproject.toml")["project"]["optional-dependencies"]["docs"])
    session.run("mkdocs", "build", "--strict", "-q", "-f", "docs/mkdocs.yml", env={"NO_MKDOCS_2_WARNING": "1"})
    loads = re.compile(r"<(?:script|img|iframe)\b[^>]*\bsrc=.?(?:https?:)?//|<link\b[^>]*\bhref=.?(?:https?:)?//")
    foreign = [str(page) for page in sorted(Path("build/site").rglob("*.html")) if loads.search(page.read_text(encoding="utf-8"))]
    if foreign:
        session.error(f"pages that load something from elsewhere: {', '.join(foreign)}")
    session.log("build/site/index.html")
