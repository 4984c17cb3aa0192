"""The pages hang together: what the code cites is there, links lead somewhere, fields and numbers are those of the code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from readme_blocks import ROOT

from sandbox.container import HOME, WORKSPACE, ContainerSpec
from synth.crystallization.outcome import PatternOutcome
from verifiers.context import SKILL_LIMITS
from verifiers.interface import MOST_QUESTIONS

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
