"""Omni export: what its scanner, loader and decorator make of the files. The reader below restates the scanner's rules."""

from __future__ import annotations

import ast
import asyncio
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from factories import draft, files_below, report

from synth.export import ExportError, Skill, skill_of
from synth.export.omni import disagreements, export_omni
from synth.export.omni_code import description, omni_source
from synth.export.omni_immune import refused, without_pathlib
from synth.export.omni_workspace import PARAMETER
from synth.interface import Draft
from synth.owned import Conflict
from synth.registry import Registry
from synth.registry.annotations import Annotations, measured
from verifiers.interface import CheckResult, Verdict
from verifiers.source.static import run_static
from verifiers.subject import load_subject, parse_subject

HINTS = Annotations(read_only=False, destructive=True, idempotent=True, open_world=False)
BULLET = re.compile(r"^\s*- (?P<name>\w+):(?P<rest>[^-]*)-(?P<text>.*)$")


def scan(directory: Path) -> dict[str, Any]:
    """What Omni's scanner indexes of a skill directory: literal keywords, typed parameters, bullets after ``Args:``."""
    found: dict[str, Any] = {}
    for path in sorted((directory / "scripts").rglob("*.py")):
        if path.name == "__init__.py" or path.name.startswith("_"):
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for call in (
                    d
                    for d in node.decorator_list
                    if isinstance(d, ast.Call) and isinstance(d.func, ast.Name) and d.func.id == "skill_command"
                ):
                    keywords = {k.arg: k.value.value for k in call.keywords if isinstance(k.value, ast.Constant)}
                    assert len(keywords) == len(call.keywords), "only plain literals are read"
                    after = keywords["description"].partition("Args:")[2]
                    bullets = {m["name"]: m["text"].strip() for m in (BULLET.match(line) for line in after.splitlines()) if m}
                    args = [*node.args.args, *node.args.kwonlyargs]
                    found[f"{directory.name}.{keywords['name']}"] = (
                        keywords,
                        {a.arg: ast.unparse(a.annotation) for a in args if a.annotation},
                        bullets,
                    )
    return found


def indexed(text: str) -> dict[str, str]:
    """The decorator's keywords as Omni's index has them: its parser reads no further than a text of several lines."""
    call = text.split("@skill_command(", 1)[1].partition('"""')[0]
    return dict(re.findall(r"^\s+(\w+)=(.*?),?$", call, re.MULTILINE))


def exported(tmp_path: Path, of: Draft, **changes: Any) -> Skill:
    with Registry(tmp_path) as registry:
        entry = registry.register(of, report(of, **changes))
        return skill_of(registry, entry.name)


def test_the_scanner_reads_it(tmp_path: Path) -> None:
    """One command, its name, typed parameters, a text for each, and what was measured."""
    done = export_omni(exported(tmp_path / "r", draft()), tmp_path / "skills")
    assert done.directory == tmp_path / "skills" / "learned_batch_rename"
    assert (done.directory / "scripts" / "__init__.py").exists()
    assert done.directory.name.isidentifier()
    assert list(scan(done.directory)) == ["learned_batch_rename.batch_rename"]
    keywords, types, bullets = scan(done.directory)["learned_batch_rename.batch_rename"]
    assert types == {"old_ext": "str", "new_ext": "str", "workspace": "str"}
    told = {"old_ext": "Extension to replace, without the dot", "new_ext": "New extension, without the dot"}
    assert bullets == {**told, "workspace": "Directory to work on, the current one if empty"}
    assert (keywords["read_only"], keywords["destructive"], keywords["idempotent"]) == (False, True, True)
    assert keywords["description"].startswith("Run: rename every file with one extension to another.\n\nArgs:\n")
    assert "Returns:" in keywords["description"]


def test_no_keyword_is_lost(tmp_path: Path) -> None:
    """Category and flags come before the description, which takes what follows with it."""
    done = export_omni(exported(tmp_path / "r", draft()), tmp_path / "skills")
    found = indexed((done.directory / "scripts" / "commands.py").read_text())
    assert (found["category"], found["destructive"], found["read_only"]) == ('"write"', "True", "False")


CAUGHT = ["import os", "import os, sys", "import os.path", "from os import x", "eval('1')", "open('f')", "__import__('os')"]
CAUGHT += ["globals()", "locals()", "import subprocess", "from subprocess import run"]
PASSED = ["import os as o", "import subprocess as sp", "eval('1', {})", "open('f', 'w')", "getattr(a, 'b')", "import importlib"]
PASSED += ["__import__('os', fromlist=['x'])", "Path('f').write_text('x')", "import shutil", "globals", "x.open('f')"]


@pytest.mark.parametrize(("text", "caught"), [*((t, True) for t in CAUGHT), *((t, False) for t in PASSED)])
def test_the_immune_layer_is_told_from_its_rules(text: str, caught: bool) -> None:
    """What its scan was seen to catch and to miss."""
    assert bool(refused(text)) is caught


USES_OS = '''import os
import shutil
from pathlib import Path

from skill_api import Query, skill_command


def _put(path: Path, data: bytes, mode: int = 0o666) -> None:
    path = Path(os.path.realpath(path))
    part = path.with_name(f".{os.fsencode(path.name).hex()}.part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
        stream.write(data)
    shutil.copymode(path if path.exists() else part, part)
    part.replace(path)


@skill_command(autowire=True)
def demo(a: str = Query(..., description="A.")) -> dict[str, object]:
    """Put a text where there is none."""
    path = Path(a)
    there = os.path.lexists(path) or os.path.isdir(path.parent / f"{a}.d")
    if not there:
        _put(path, os.fsencode(f"{a}\\n"))
    return {"ok": True, "there": there}
'''


def test_what_it_refuses_is_done_with_pathlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does the same: on a name that is free, a file, a dangling link, a name that is no UTF-8, and with its own mode."""
    assert refused(USES_OS) == ["import os"]
    text = rewritten(USES_OS)
    assert refused(text) == []
    fake_omni(monkeypatch)
    old, new = dict[str, Any](), {"__file__": str(tmp_path / "new.py")}
    exec(compile(USES_OS.replace('Query(..., description="A.")', "''"), "old.py", "exec"), old)
    exec(compile(text, "new.py", "exec"), new)
    for name in ("free", "file", "link", "dir", "a\udcff"):
        for kind, names in (("old", old), ("new", new)):
            here = tmp_path / kind / str(len(name))
            here.mkdir(parents=True, exist_ok=True)
            monkeypatch.chdir(here)
            Path("file").write_text("x")
            Path("dir.d").mkdir(exist_ok=True)
            if not Path("link").is_symlink():
                Path("link").symlink_to("nowhere")
            names["result"] = names["demo"](a=name)
        assert old["result"] == new["result"]
    assert listing(tmp_path / "old") == listing(tmp_path / "new")


@pytest.mark.parametrize(
    "tested",
    ["os.path.isdir(a)", "os.path.exists(a)", "os.path.isfile(f'{a}/')", "os.path.lexists(made)", "os.path.exists(Path(a).name)"],
)
def test_a_test_of_text_stays_as_it_is(tested: str) -> None:
    """Of an empty text and of one that ends in a slash ``pathlib`` says something else: it is refused there, and said."""
    text = USES_OS.replace("os.path.lexists(path)", tested).replace(
        "    path = Path(a)", "    path = Path(a)\n    made = path\n    made = a"
    )
    assert without_pathlib(text) == [tested.partition("(")[0]]


def listing(directory: Path) -> list[tuple[str, int, bytes]]:
    return [
        (p.relative_to(directory).as_posix(), p.lstat().st_mode, p.read_bytes() if p.is_file() else b"")
        for p in sorted(directory.rglob("*"))
    ]


def test_what_cannot_be_done_so_is_said(tmp_path: Path) -> None:
    """A skill that runs programs is exported as it was verified, and whoever exports it is told."""
    made = draft()
    running = replace(made, source=made.source.replace("from pathlib", "import subprocess\nfrom pathlib"))
    done = export_omni(exported(tmp_path / "r", running), tmp_path / "skills")
    refusal, written, offer = done.notes[-3:]
    assert "will refuse it for: import subprocess" in refusal
    recordings = done.directory / "evidence/evidence.jsonl"
    assert recordings.is_file()
    assert written.endswith(f"assay crystallize {recordings} --refuse-imports subprocess --generator anthropic")
    alone = replace(exported(tmp_path / "r2", running), with_evidence=False)
    assert not any("assay crystallize" in note for note in export_omni(alone, tmp_path / "alone").notes)
    assert offer.endswith(f"assay verify {done.directory}")
    assert without_pathlib(f'{running.source}\n\nsubprocess.run(["true"])\n') == ["subprocess.run"]
    assert without_pathlib(USES_OS) == []


def test_the_front_matter_is_read(tmp_path: Path) -> None:
    """YAML as the scanner parses it: routing words, intents, permissions, and the verification block that it ignores."""
    done = export_omni(exported(tmp_path / "r", draft()), tmp_path / "skills")
    text = (done.directory / "SKILL.md").read_text()
    fields = yaml.safe_load(text.split("---\n")[1])
    metadata = fields["metadata"]
    assert fields["description"].startswith("Use when")
    assert 5 <= len(metadata["routing_keywords"]) <= 20
    assert metadata["routing_keywords"][:2] == ["batch", "rename"]
    assert metadata["permissions"] == ["filesystem:read", "filesystem:write"]
    assert metadata["version"] == "1.0.0"
    assert metadata["verification"]["verdict"] == "PASS"
    assert metadata["verification"]["verified_sha256"] == parse_subject(draft().source, "x").sha256
    assert done.reindex == "omni reindex"
    assert done.reindex in text
    assert done.reindex in (done.directory / "README.md").read_text()


def fake_omni(monkeypatch: pytest.MonkeyPatch) -> None:
    """Omni's decorator, as far as its signature and call go."""
    known = {"name", "description", "category", "title", "read_only", "destructive", "idempotent", "open_world", "autowire"}

    def skill_command(**keywords: Any) -> Any:
        assert set(keywords) <= known
        return lambda function: function

    module = ModuleType("omni.foundation.api.decorators")
    module.skill_command = skill_command  # type: ignore[attr-defined]  # a module made by hand
    for name in ("omni", "omni.foundation", "omni.foundation.api"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "omni.foundation.api.decorators", module)


def test_the_rewritten_code_does_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Called by keyword, as Omni does; the default is a plain value now."""
    done = export_omni(exported(tmp_path / "r", draft()), tmp_path / "skills")
    fake_omni(monkeypatch)
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "a.txt").write_text("x")
    monkeypatch.chdir(tmp_path / "w")
    names: dict[str, Any] = {"__file__": str(done.directory / "scripts" / "commands.py")}
    exec(compile((done.directory / "scripts" / "commands.py").read_text(), "commands.py", "exec"), names)
    assert asyncio.run(names["batch_rename"](old_ext="txt")) == {"ok": True, "changed": 1}
    assert (tmp_path / "w" / "a.md").exists()


def test_a_caller_may_say_the_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It works there and leaves Omni where it is: never on the skill's own directory, and on the home or the root if told so."""
    done = export_omni(exported(tmp_path / "r", draft()), tmp_path / "skills")
    fake_omni(monkeypatch)
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "a.txt").write_text("x")
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    file = done.directory / "scripts" / "commands.py"
    names: dict[str, Any] = {"__file__": str(file)}
    exec(compile(file.read_text(), file, "exec"), names)
    for there in (done.directory, done.directory / "evidence", tmp_path / "home", Path("/")):
        monkeypatch.chdir(there)
        with pytest.raises(ValueError, match="say which with workspace"):
            asyncio.run(names["batch_rename"](old_ext="txt"))
        with pytest.raises(ValueError, match="say which with workspace"):
            asyncio.run(names["batch_rename"](old_ext="txt", workspace=str(done.directory)))
        given = asyncio.run(names["batch_rename"](old_ext="txt", workspace=str(tmp_path / "w")))
        assert given["ok"]
        assert Path.cwd() == there
    assert [p.name for p in (tmp_path / "w").iterdir()] == ["a.md"]
    assert (
        "directory that `workspace` names; without, on the one that Omni was started in"
        in (done.directory / "SKILL.md").read_text()
    )


@pytest.mark.parametrize("body", ["await other()", "workspace = a", "chdir(a)"])
def test_not_where_it_would_be_anothers(body: str) -> None:
    """While it waits, other commands of Omni's one process would be in its directory; its own names are its own."""
    text = rewritten(f'{HEAD}async def demo(a: str = Query(..., description="A.")) -> str:\n    {body}\n    return a\n')
    assert "async def demo(a: str) -> str:" in text
    assert "_workspace" not in text


def rewritten(source: str) -> str:
    return omni_source(source, parse_subject(source, "skill.py"), HINTS, "demo")


HEAD = "from skill_api import Query, skill_command\n\n\n@skill_command(autowire=True)\n"


def test_a_question_stays_one() -> None:
    """What was asked is told as it was: no full stop after it."""
    asked = draft().source.replace("Rename every file with one extension to another.", "Which files are there?.")
    assert description(parse_subject(asked, "skill.py")).startswith("Run: which files are there?\n")


def test_required_parameters_come_first() -> None:
    """Seed skills may mix; without ``Query`` a required one after a default would not parse."""
    params = 'a: str = Query("x-y", description="A."), *, b: int = Query(..., description="B."), c: bool = Query(False)'
    text = rewritten(f"{HEAD}def demo({params}) -> str:\n    return a\n")
    assert "def demo(b: int, a: str = 'x-y', c: bool = False, workspace: str = \"\") -> str:" in text
    assert "- a: str - A." in text
    assert "- c: bool = false - c" in text
    ast.parse(text)


@pytest.mark.parametrize("summary", ['Say """hello""".', "Back\\\\slash \\\\n.", 'Ends with a quote"', "Ünïcödé 🙂 lines."])
def test_any_description_stays_one_plain_literal(summary: str) -> None:
    """Quotes, backslashes and other scripts neither end the literal nor change the text."""
    escaped = summary.replace('"', '\\"')
    source = HEAD + f'def demo(a: str = Query(..., description="A.")) -> str:\n    "{escaped}"\n    return a\n'
    subject = parse_subject(source, "skill.py")
    tree = ast.parse(rewritten(source))
    call = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "demo").decorator_list[0]
    assert isinstance(call, ast.Call)
    (text,) = (k.value.value for k in call.keywords if k.arg == "description" and isinstance(k.value, ast.Constant))
    assert text.rstrip("\n") == description(replace(subject, parameters=(*subject.parameters, PARAMETER)))


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (HEAD.replace("Query,", "Query, nu,") + "def demo() -> str:\n    return ''\n", "nu"),
        ("from skill_api import skill_command as s\n\n\n@s()\ndef demo() -> str:\n    return ''\n", "under another name"),
        ("import skill_api\n", "as a module"),
        ("from skill_api import *\n", "everything"),
        ("x = 1\n", "no @skill_command"),
        (HEAD + "def demo(a: list = Query([1])) -> str:\n    return ''\n", "mutable default"),
    ],
)
def test_what_cannot_be_rewritten_is_refused(source: str, why: str) -> None:
    """Nothing half-rewritten is written."""
    with pytest.raises(ExportError, match=why):
        rewritten(source)


def test_a_skill_of_the_omni_profile_is_left_as_it_is() -> None:
    """It is already what Omni wants."""
    source = "from omni.foundation.api.decorators import skill_command\n"
    assert omni_source(source, parse_subject(source, "x", "omni"), HINTS, "demo") == source


def test_measured_hints() -> None:
    """From the report alone; what was not measured is told at its worst."""
    good = {
        "capabilities": ["creates"],
        "checks": [{"id": "idempotent-replay", "verdict": "PASS"}, {"id": "contained", "verdict": "PASS"}],
    }
    assert measured(good) == Annotations(False, False, True, False)
    assert measured({**good, "capabilities": ["read-only"]}) == Annotations(True, False, True, False)
    assert measured({**good, "capabilities": ["creates", "deletes"]}).destructive
    assert measured({**good, "capabilities": ["creates", "follows-outside-paths"]}).open_world
    assert measured({}) == Annotations(False, True, False, True)


STAYS = (CheckResult("contained", Verdict.PASS),)


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("list_names", {}, ["nothing that writes for idempotent", "is open-world; it was not seen to stay"]),
        ("list_urls", {"capabilities": ("read-only",)}, []),
        ("tidy", {"capabilities": ("read-only",), "checks": STAYS}, ["everything that only reads"]),
        ("web_pages", {"checks": STAYS}, ["is open-world; it was seen to stay"]),
    ],
)
def test_where_the_scanner_will_disagree_is_said(tmp_path: Path, name: str, changes: dict[str, Any], said: list[str]) -> None:
    """It reads two flags, takes what reads for idempotent, and guesses the last by the name; the person exporting is told."""
    found = disagreements(exported(tmp_path, draft(name), **changes))
    assert len(found) == len(said)
    assert all(what in note for what, note in zip(said, found, strict=True))


def test_edits_are_kept(tmp_path: Path) -> None:
    """And an equal export changes nothing."""
    skill = exported(tmp_path / "r", draft())
    done = export_omni(skill, tmp_path / "skills")
    before = files_below(done.directory)
    assert files_below(export_omni(skill, tmp_path / "skills").directory) == before
    (done.directory / "scripts" / "commands.py").write_text("mine")
    with pytest.raises(Conflict):
        export_omni(skill, tmp_path / "skills")
    changed = replace(draft(), skill_md="# other\n")
    assert changed != draft()


def test_our_own_checks_of_the_omni_profile_pass(tmp_path: Path) -> None:
    """The conventions of real Omni skills, ruff, mypy strict: what is exported would pass as a candidate."""
    done = export_omni(exported(tmp_path / "r", draft()), tmp_path / "skills")
    subject = load_subject(done.directory / "scripts" / "commands.py", "omni")
    results = run_static([subject])[0]
    assert {r.id for r in results} >= {"parses", "conventions", "ruff-clean", "mypy-strict"}
    assert [(r.id, f.message) for r in results for f in r.findings if f.severity == "error"] == []
