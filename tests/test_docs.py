"""The pages hang together: what the code cites is there, links lead somewhere, fields and numbers are those of the code."""

from __future__ import annotations

import ast
import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from factories import draft, report
from readme_blocks import GUIDES, README, ROOT, TUTORIAL, misspelt, shown

from sandbox.container import HOME, WORKSPACE, ContainerSpec
from sandbox.interface import Snapshot
from synth.crystallization.outcome import PatternOutcome
from verifiers.context import SKILL_LIMITS
from verifiers.formats.json_report import report_to_json
from verifiers.interface import MOST_QUESTIONS
from verifiers.score import ScoreInputs, Trial, score
from verifiers.subject import parse_subject

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
CITED = re.compile(r'\bdocs/([\w/-]+\.md), "([^"]+)"')
UNSEEN = re.compile("§|\\b(?:SEMANTICS|DESIGN|STYLE)\\b")
"""Titles of documents that the project was planned with and that nobody else has."""


def headings(page: Path) -> list[str]:
    """Without those in code blocks."""
    text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text(encoding="utf-8"))
    return re.findall(r"(?m)^#+ (.+)$", text)


def anchor(heading: str) -> str:
    """As the site and the forges make it."""
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def section(page: str, heading: str) -> str:
    text = (DOCS / page).read_text(encoding="utf-8")
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def texts() -> Iterator[tuple[str, str]]:
    """What a user gets to read: path and text, this file apart."""
    code = [p for folder in ("synth", "verifiers", "sandbox", "tests") for p in (ROOT / folder).rglob("*.py")]
    for path in [*code, *PAGES, *ROOT.glob("*.md"), ROOT / "noxfile.py", *(ROOT / "fixtures").glob("*.md")]:
        if path != Path(__file__):
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def test_what_is_cited_is_there() -> None:
    """``docs/PAGE.md, "Heading"``: the page has that heading."""
    found = {(m[1], m[2]) for _, text in texts() for m in CITED.finditer(" ".join(text.split()))}
    assert len(found) > 15
    assert [f'{page}, "{heading}"' for page, heading in sorted(found) if heading not in headings(DOCS / page)] == []


def test_the_code_cites_headings() -> None:
    """A whole page is no place to look something up in."""
    bare = re.compile(r'\bdocs/(?:semantics|design)\.md(?!, ")')
    assert [path for path, text in texts() if path.endswith(".py") and bare.search(" ".join(text.split()))] == []


def test_no_text_cites_what_users_do_not_have() -> None:
    """Neither by its title nor by a section, and every page of ours that is named exists."""
    assert [path for path, text in texts() if UNSEEN.search(text)] == []
    ours = [(path, text) for path, text in texts() if not path.startswith("tests/")]  # those speak of made trees too
    named = {(path, m[0]) for path, text in ours for m in re.finditer(r"\bdocs/[\w/-]+\.md\b", text)}
    assert [(path, page) for path, page in sorted(named) if not (ROOT / page).is_file()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(DOCS).as_posix())
def test_its_links_lead_somewhere(page: Path) -> None:
    """To a file among the pages, and to a heading of it: the site has nothing else."""
    text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text(encoding="utf-8"))
    for target, _, place in (t.partition("#") for t in re.findall(r"\]\((?!https?:)([^) ]+)\)", text)):
        file = (page.parent / target).resolve() if target else page
        assert file.is_file(), target
        assert file.is_relative_to(DOCS), target
        assert not place or place in {anchor(h) for h in headings(file)}, f"{target}#{place}"


def test_every_page_is_in_the_navigation() -> None:
    """Once, and nothing else is."""
    listed: list[str] = []

    def walk(item: object) -> None:
        if isinstance(item, str):
            listed.append(item)
        for below in item.values() if isinstance(item, dict) else item if isinstance(item, list) else ():
            walk(below)

    walk(yaml.safe_load((DOCS / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    assert sorted(listed) == sorted(p.relative_to(DOCS).as_posix() for p in PAGES)


def test_the_contracts_are_short() -> None:
    for page in ("semantics.md", "design.md"):
        assert len((DOCS / page).read_text(encoding="utf-8").splitlines()) < 250, page


def test_the_install_commands_are_those_of_the_readme() -> None:
    (block,) = re.findall(r"(?ms)^```\n.*?^```$", (DOCS / "index.md").read_text(encoding="utf-8"))
    assert block in (ROOT / "README.md").read_text(encoding="utf-8")


BLOCK = re.compile(r"(?ms)^```(\w*)\n(.*?)^```$")
RUN = {
    "console": {README, TUTORIAL, *GUIDES},  # test_readme, test_guides
    "python": {README, DOCS / "score.md", DOCS / "api.md", DOCS / "checks.md"},
    # below, and test_api; the manual is made from examples that are judged
    "yaml": {*GUIDES, DOCS / "gate.md", DOCS / "history.md"},  # test_guides, below and test_policy, test_drift
    "json": {DOCS / "design.md"},  # below
}
"""Where blocks of each language are run, or read by what they are for."""


@pytest.mark.parametrize("page", [README, *PAGES], ids=lambda p: p.relative_to(ROOT).as_posix())
def test_no_block_is_only_looked_at(page: Path) -> None:
    """What is run elsewhere is run on this page; the options of what is only shown are those of its command."""
    text = page.read_text(encoding="utf-8")
    languages = {language for language, _ in BLOCK.findall(text)} - {""}
    assert [language for language in languages if page not in RUN.get(language, set())] == []
    assert misspelt(shown(text)) == []


def test_a_misspelt_command_is_noticed() -> None:
    """Also below another, after settings, in a list of them."""
    wrong = ["assay gate d --sinc main", "assay registry gc --dry", "assay hook instal"]
    right = ["assay record -o f -- ls --all", "assay hook install --agent codex", "other --options"]
    assert misspelt(shown("```\nKEY=x " + "  # why\n".join([*wrong, *right]) + "\n```\n")) == wrong


def test_the_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a reader's own names; one recording is no task yet. A skill's head is one by its decorator."""
    monkeypatch.chdir(tmp_path)
    agent, skill = (block for language, block in BLOCK.findall(README.read_text(encoding="utf-8")) if language == "python")
    known = {"directory": tmp_path, "commands": ["true"], "outputs": [""], "codes": [0]}
    running = eval(compile(agent, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), known)  # our own page

    async def awaited() -> None:
        await running

    asyncio.run(awaited())
    assert len(list((tmp_path / "data" / "traces").glob("*.json"))) == 1
    assert parse_subject("from skill_api import Query, skill_command\n" + skill, "README.md", "seed").name == "rename_ext"


def test_the_python_of_the_score_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a report as `assay verify --format json` writes it."""
    monkeypatch.chdir(tmp_path)
    (block,) = (b for language, b in BLOCK.findall((DOCS / "score.md").read_text(encoding="utf-8")) if language == "python")
    result = score(ScoreInputs((Trial("a", True, False), Trial("b", False, False)), generated=10, adequacy=0.5))
    assert result is not None
    saved = replace(report(draft()), score=result)
    (tmp_path / "report.json").write_text(json.dumps(report_to_json(saved)), encoding="utf-8")
    exec(compile(block, "score.md", "exec"), {})  # our own page


def test_the_configurations_of_the_gate_are_those_of_its_files() -> None:
    """The hooks are ours, and the workflow takes what it is given."""
    text = (DOCS / "gate.md").read_text(encoding="utf-8")
    _, hooks, workflow = (block for language, block in BLOCK.findall(text) if language == "yaml")
    ours = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    (repository,) = yaml.safe_load(hooks.replace("<", "").replace(">", ""))["repos"]
    assert {hook["id"] for hook in repository["hooks"]} <= ours
    job = yaml.safe_load(workflow)["jobs"]["gate"]
    called = yaml.safe_load((ROOT / ".github/workflows/assay-gate.yml").read_text(encoding="utf-8"))[True]["workflow_call"]
    assert set(job["with"]) <= set(called["inputs"])
    assert set(job["secrets"]) <= set(called["secrets"])


def test_the_snapshot_that_is_shown_is_one() -> None:
    (block,) = (b for language, b in BLOCK.findall((DOCS / "design.md").read_text(encoding="utf-8")) if language == "json")
    assert len(Snapshot.from_json(json.loads(block))) == 3


def test_the_tutorial_has_a_picture() -> None:
    """Of what its last step can print; test_html_browser keeps the ones that are looked at."""
    (picture,) = re.findall(r"!\[[^]]+\]\(([^)]+)\)", TUTORIAL.read_text(encoding="utf-8"))
    assert (DOCS / picture).is_file()


def test_every_field_of_a_report_is_told() -> None:
    """Those of the schema, and those of a pattern's outcome."""
    schema = json.loads((ROOT / "verifiers" / "formats" / "assay-report-1.schema.json").read_text(encoding="utf-8"))
    told = section("design.md", "The report")
    assert [f for f in schema["properties"] if f != "schema" and f"`{f}`" not in told] == []
    told = section("design.md", "Other documents")
    assert [f for f in PatternOutcome("t", (), "refused", "").to_json() if f"`{f}`" not in told] == []


def test_the_numbers_are_those_of_the_code() -> None:
    spec, told = ContainerSpec("image"), section("design.md", "Sandbox")
    for number in (
        f"`{WORKSPACE}`", f"`{HOME}`", f"{spec.ws_bytes >> 20} MiB", f"{spec.ws_inodes:,} paths",
        f"{spec.memory_bytes >> 20} MiB, {spec.processes}, 2", f"judged skills {SKILL_LIMITS.wall_s:.0f} s",
    ):  # fmt: skip
        assert number in told, number
    assert MOST_QUESTIONS == 3
    assert "at most three" in section("semantics.md", "Questions")
