"""The static checks as a batch: one result a skill and check, the linters' rules, and what their failures look like."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifiers.catalog import STATIC
from verifiers.checks import mypy_strict, ruff_clean
from verifiers.interface import ImportRules, StaticCheck, Subject, Verdict
from verifiers.source import static, tools, typecheck
from verifiers.source.static import run_static
from verifiers.subject import parse_subject

GOOD = '''from pathlib import Path

from skill_api import Query, skill_command


@skill_command(autowire=True)
async def touch(file: str = Query(..., description="Path")) -> dict[str, object]:
    """Create an empty file.

    Args:
        file: Path.

    Returns:
        Whether it went well.
    """
    Path(file).touch()
    return {"ok": True}
'''
ALL = ("parses", "conventions", "ruff-clean", "mypy-strict")


def subject(source: str, path: str = "skill.py") -> Subject:
    """A seed subject."""
    return parse_subject(source, path)


def verdicts(*sources: str) -> list[dict[str, Verdict | None]]:
    """Verdict by check id, for each source."""
    return [{r.id: r.verdict for r in results} for results in run_static([subject(s) for s in sources])]


def test_one_result_a_check_in_catalog_order() -> None:
    """A good skill passes them all."""
    assert [r.id for r in run_static([subject(GOOD)])[0]] == list(ALL)
    assert verdicts(GOOD) == [dict.fromkeys(ALL, Verdict.PASS)]


def test_equal_names_do_not_clash() -> None:
    """Skills of one file name, and copies of one text, are judged apart."""
    wrong = GOOD.replace('return {"ok": True}', 'return "ok"')
    found = verdicts(GOOD, wrong, GOOD)
    assert [v["mypy-strict"] for v in found] == [Verdict.PASS, Verdict.FAIL, Verdict.PASS]


def test_a_broken_file_spoils_only_itself() -> None:
    """What does not parse fails ``parses`` and is inconclusive elsewhere; its neighbours are judged."""
    found = verdicts("def f(:", GOOD)
    assert found[0] == {"parses": Verdict.FAIL, "conventions": Verdict.INCONCLUSIVE, "ruff-clean": Verdict.INCONCLUSIVE,
                        "mypy-strict": Verdict.INCONCLUSIVE}  # fmt: skip
    assert found[1] == dict.fromkeys(ALL, Verdict.PASS)


def test_nothing_to_check() -> None:
    """No subjects, no results."""
    assert run_static([]) == []


def test_chosen_checks_only() -> None:
    """Ids narrow what runs."""
    assert [[r.id for r in rs] for rs in run_static([subject(GOOD)], {"parses", "ruff-clean"})] == [["parses", "ruff-clean"]]


def test_prefetched_results_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch judged ahead is not judged again, other texts and paths are; the next batch replaces it."""
    wrong = subject(GOOD.replace('return {"ok": True}', 'return "ok"'))
    static.prefetch([subject(GOOD), wrong])
    with monkeypatch.context() as patch:
        patch.setattr(static, "STATIC", ())
        assert [r.verdict for r in run_static([wrong], {"mypy-strict"})[0]] == [Verdict.FAIL]
        assert [r.id for r in run_static([subject(GOOD)])[0]] == list(ALL)
        assert run_static([subject(GOOD, "other.py")]) == [[]]
    static.prefetch([])
    with monkeypatch.context() as patch:
        patch.setattr(static, "STATIC", ())
        assert run_static([wrong]) == [[]]


def test_extra_imports() -> None:
    """A configured module passes the conventions."""
    source = GOOD.replace("from pathlib", "import requests\nfrom pathlib")
    found = run_static([subject(source)], {"conventions"}, ImportRules(frozenset({"requests"})))
    assert found[0][0].verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("import subprocess", Verdict.FAIL),
        ("from os.path import exists", Verdict.FAIL),
        ("import shutil", Verdict.PASS),
        ("import pathlib\n\nHOME = pathlib.os.sep", Verdict.FAIL),
        ("from pathlib import os", Verdict.FAIL),
    ],
)
def test_refused_imports(line: str, verdict: Verdict) -> None:
    """What the list allows can be taken away, with everything below it; the rest stays allowed."""
    source = GOOD.replace("from pathlib", f"{line}\nfrom pathlib")
    rules = ImportRules(refuse=frozenset({"os", "subprocess"}))
    assert run_static([subject(source)], {"conventions"}, rules)[0][0].verdict is verdict
    assert run_static([subject(source)], {"conventions"})[0][0].verdict is Verdict.PASS


@pytest.mark.parametrize(("code", "found"), [("getattr(shutil, 'os').sep", 1), ("shutil.os.sep", 1), ("platform.os.sep", 0)])
def test_refused_modules_are_reached_through_no_other(code: str, found: int) -> None:
    """A name of the function's own is no module, whatever it is called."""
    source = GOOD.replace("from pathlib", "import shutil\nfrom pathlib") + f"    platform = Path()\n    print({code})\n"
    told = run_static([subject(source)], {"conventions"}, ImportRules(refuse=frozenset({"os"})))[0][0].findings
    assert sum("reaches a module" in f.message for f in told) == found


def test_what_the_hosts_packages_hold_is_anything() -> None:
    """Skills of the omni profile return and decorate with what the host's own packages give; nothing is known of those here."""
    text = (
        "from pathlib import Path\n\nfrom omni.foundation.config.paths import ConfigPaths\nfrom tenacity import retry\n\n\n"
        "@retry\ndef root(paths: ConfigPaths | None = None) -> Path:\n    return (paths or ConfigPaths()).project_root\n"
    )
    assert typecheck.typecheck({"a": text}, "omni") == {"a": ()}


def test_mypy_asks_nothing_of_extra_imports() -> None:
    """What a configured module holds is unknown, and so is what is below it; another module stays an error."""
    source = GOOD.replace("from pathlib", "import requests.adapters\nfrom pathlib")
    assert run_static([subject(source)], {"mypy-strict"}, ImportRules(frozenset({"requests"})))[0][0].verdict is Verdict.PASS
    assert run_static([subject(source)], {"mypy-strict"}, ImportRules(frozenset({"numpy"})))[0][0].verdict is Verdict.FAIL


@pytest.mark.parametrize("check", STATIC, ids=lambda c: c.id)
def test_own_examples(check: StaticCheck) -> None:
    """Each check passes its good examples and not its bad ones."""
    examples = [*check.good, *check.bad]
    results = check.run_batch([subject(e.source) for e in examples])
    passed = [r.verdict is Verdict.PASS for r in results]
    assert passed == [True] * len(check.good) + [False] * len(check.bad)


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("import yaml", "F401"), ("undefined_name", "F821"), ("x = 1; y = 2", "E702"), ("if file: pass", "E701"),
        ("assert Path(file).unlink() is None", "S101"),
        ('Path("/tmp/x").touch()', "S108"), ("exec(file)", "S102"), ("print(f'a')", "F541"),
        ("Path(file).touch", "B018"), ("def g(x=[]): return x", "B006"),
    ],
)  # fmt: skip
def test_ruff_rules(line: str, rule: str) -> None:
    """Defects and insecure calls are found, with rule and line."""
    source = GOOD.replace("    Path(file).touch()\n", f"    {line}\n    Path(file).touch()\n")
    result = ruff_clean.CHECK.run_batch([subject(source)])[0]
    found = [f for f in result.findings if f.rule == rule]
    assert result.verdict is Verdict.FAIL
    assert [f.line for f in found] == [16]


@pytest.mark.parametrize(
    "line",
    [
        'subprocess.run(["chmod", "755", file], check=True)', "os.chmod(file, 0o755)",
        "hashlib.md5(Path(file).read_bytes()).hexdigest()",
        'token = "[ERROR]"\n    Path(token).touch()', "time.sleep(0)", 'subprocess.run("sort a > b", shell=True, check=True)',
        "xml.etree.ElementTree.parse(file)", "xml.dom.minidom.parse(file)", 'raise ValueError(file)',
    ],
)  # fmt: skip
def test_ruff_leaves_good_skills_alone(line: str) -> None:
    """What a good skill may do is no finding."""
    source = GOOD.replace("    Path(file).touch()\n", f"    Path(file).touch()\n    {line}\n")
    known = ("hashlib", "os", "subprocess", "time", "xml.dom.minidom", "xml.etree.ElementTree")
    needed = [m for m in known if f"{m}." in line]
    source = "".join(f"import {m}\n" for m in needed) + source
    assert ruff_clean.CHECK.run_batch([subject(source)])[0].findings == ()


def test_ruff_offers_its_fixes() -> None:
    """A safe fix is the file's whole new text."""
    result = ruff_clean.CHECK.run_batch([subject("import os\n" + GOOD)])[0]
    fix = result.findings[0].fix
    assert fix is not None
    assert (fix.safe, fix.replacement) == (True, GOOD)


@given(st.lists(st.text(alphabet="abé日\U0001f600", max_size=5), min_size=1, max_size=5), st.data())
def test_edits_are_applied_by_character(lines: list[str], data: st.DataObject) -> None:
    """Rows and columns count characters from 1, whatever their width in bytes."""
    source = "\n".join(lines)
    row = data.draw(st.integers(0, len(lines) - 1))
    begin = data.draw(st.integers(0, len(lines[row])))
    end = data.draw(st.integers(begin, len(lines[row])))
    place = {
        "location": {"row": row + 1, "column": begin + 1},
        "end_location": {"row": row + 1, "column": end + 1},
        "content": "X",
    }
    changed = [*lines]
    changed[row] = lines[row][:begin] + "X" + lines[row][end:]
    assert ruff_clean.apply_edits(source, [place]) == "\n".join(changed)


def test_mypy_reports_rule_line_and_notes() -> None:
    """An error carries its code and the notes that belong to it."""
    source = GOOD.replace("Path(file).touch()", "Path(file).tuoch()")
    finding = mypy_strict.CHECK.run_batch([subject(source)])[0].findings[0]
    assert (finding.rule, finding.line) == ("attr-defined", 16)


@pytest.mark.parametrize("comment", ["  # type: ignore", "  # type: ignore[return-value]", "  #type:ignore"])
def test_type_ignores_are_not_honoured(comment: str) -> None:
    """A suppression comment does not hide an error."""
    source = GOOD.replace('return {"ok": True}', f'return "ok"{comment}')
    assert mypy_strict.CHECK.run_batch([subject(source)])[0].verdict is Verdict.FAIL


def test_inline_configuration_is_not_honoured() -> None:
    """Neither does a file-wide one."""
    source = "# mypy: ignore-errors\n" + GOOD.replace('return {"ok": True}', 'return "ok"')
    assert mypy_strict.CHECK.run_batch([subject(source)])[0].verdict is Verdict.FAIL


@settings(deadline=None)
@given(st.text(alphabet="# type:ignomyp\"'\n()[]x=1\f\u2028\x1c", max_size=80))
def test_neutralising_keeps_the_lines(text: str) -> None:
    """Only comments change, and no line moves."""
    fresh = typecheck.neutralised(text)
    assert len(fresh) == len(text)
    assert fresh.count("\n") == text.count("\n")


def test_profiles_have_their_own_types() -> None:
    """An omni skill is checked against the upstream decorator, and may import what is not here."""
    source = (
        "import structlog\nfrom omni.foundation.api.decorators import skill_command\n\n\n"
        '@skill_command(name="show", description="Show a path.")\ndef show(file: str) -> str:\n    return {}\n'
    )
    good, bad = source.replace("{}", "file"), source.replace("{}", "1")
    results = mypy_strict.CHECK.run_batch(
        [parse_subject(good, "a.py", "omni"), parse_subject(bad, "b.py", "omni"), subject(GOOD)]
    )
    assert [r.verdict for r in results] == [Verdict.PASS, Verdict.PASS, Verdict.PASS]
    assert [f.severity for r in results for f in r.findings] == ["warning"]


def test_a_tool_that_cannot_start_is_inconclusive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A missing linter is nobody's fault and never a pass."""
    monkeypatch.setattr(ruff_clean, "tool_command", lambda _: [str(tmp_path / "absent")])
    monkeypatch.setattr(typecheck, "run_tool", lambda *_: tools.ToolRun(None, "", "cannot be started"))
    results = run_static([subject(GOOD)], {"ruff-clean", "mypy-strict"})[0]
    assert [r.verdict for r in results] == [Verdict.INCONCLUSIVE, Verdict.INCONCLUSIVE]
    assert all("cannot be started" in r.why for r in results)


def test_a_read_only_home_costs_the_cache_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where the cache cannot be kept, a private one does."""
    (tmp_path / "file").touch()
    monkeypatch.setattr(typecheck, "cache_folder", lambda: tmp_path / "file" / "below")
    assert typecheck.typecheck({"a": "x: int = ''\n"}) == {"a": (typecheck.Complaint(1, _SAID, "assignment"),)}


_SAID = 'Incompatible types in assignment (expression has type "str", variable has type "int")'


def test_a_cache_beyond_its_limit_is_thrown_away(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The cache does not grow for ever."""
    monkeypatch.setattr(typecheck, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(typecheck, "CACHE_LIMIT_BYTES", 10)
    (tmp_path / "types").mkdir()
    (tmp_path / "types" / "old").write_bytes(b"x" * 11)
    typecheck.typecheck({"a": "x = 1\n"})
    assert not (tmp_path / "types" / "old").exists()
    assert (tmp_path / "types").is_dir()
