"""``assay import git``: what it lists, what it writes, and what comes of that."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from repositories import make, released

from synth.cli.program import run
from synth.tracing.traces import load_traces


def test_it_lists_kinds_with_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Found, of the newest era, conforming, odd; nothing is written."""
    made = released(tmp_path / "r")
    made.commit("Release 0.7.0", {"app.toml": 'name = "app"\nversion = "0.7.0"\n'})
    made.commit("Release 0.8.0", {"app.toml": 'name = "app"\nversion = "0.8.0"\n', "app.py": '__version__ = "0.8.0"\n'})
    before = set(tmp_path.rglob("*"))
    assert run(["import", "git", str(made.path)]) == 0
    told = capsys.readouterr()
    assert told.out == "release: 8 found, 8 in the newest era, 7 conforming, 1 odd  (release <value>)\n"
    assert "15 commits read; besides: 1 root" in told.err
    assert set(tmp_path.rglob("*")) == before
    assert run(["import", "git", str(made.path), "--kind", "release"]) == 0
    assert "  odd " in capsys.readouterr().out


def test_what_it_writes_is_one_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Older ones to learn from, the newest kept back, odd ones apart; crystallize sees one pattern."""
    made = released(tmp_path / "r", 9)
    made.commit("Release 0.10.0", {"app.toml": 'name = "app"\nversion = "0.10.0"\n'})
    seen, held, odd = (tmp_path / name for name in ("seen.jsonl", "held.jsonl", "odd.jsonl"))
    command = ["import", "git", str(made.path), "-o", str(seen), "--held-out", str(held), "--odd", str(odd)]
    assert run(command) == 0
    assert capsys.readouterr().out.endswith(f"6 traces imported into {seen}, 3 held out\n")
    assert [len(load_traces(p)) for p in (seen, held, odd)] == [6, 3, 1]
    newest = max(t.timestamp for t in load_traces(seen))
    assert all(t.timestamp > newest for t in load_traces(held))
    assert run(["crystallize", str(seen), "--dry-run", "--format", "json"]) == 0
    (pattern,) = json.loads(capsys.readouterr().out)["patterns"]
    assert pattern["frequency"] == 6
    assert run(["crystallize", str(seen), "--dry-run"]) == 0
    assert "edit app.py" in capsys.readouterr().out


def test_kinds_stay_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two kinds that edit one file are two patterns, whatever their edits look like."""
    made = make(tmp_path / "r")
    made.commit("Begin", {"v.py": 'v = "0.9"\n'})
    for n in range(1, 6):
        made.commit("Bump version for release", {"v.py": f'v = "1.{n}"\n'})
        made.commit("Bump version for development", {"v.py": f'v = "1.{n + 1}.dev0"\n'})
    file = tmp_path / "t.jsonl"
    assert run(["import", "git", str(made.path), "-o", str(file), "--hold-out", "0"]) == 0
    capsys.readouterr()
    assert run(["crystallize", str(file), "--dry-run", "--format", "json"]) == 0
    assert [p["frequency"] for p in json.loads(capsys.readouterr().out)["patterns"]] == [5, 5]


def test_a_history_without_kinds_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing to import."""
    made = make(tmp_path / "r")
    made.commit("Begin", {"a": "1"})
    assert run(["import", "git", str(made.path)]) == 4
    assert "no kind of commit comes three times" in capsys.readouterr().err


def test_foreign_text_cannot_drive_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Escape sequences in messages and paths are shown as such."""
    made = make(tmp_path / "r")
    made.commit("Begin", {"\x1b[31mred": "v = 0\n"})
    for n in range(1, 5):
        made.commit(f"Set \x1b[31m red to {n}", {"\x1b[31mred": f"v = {n}\n"})
    assert run(["import", "git", str(made.path)]) == 0
    told = capsys.readouterr()
    assert "\x1b" not in told.out + told.err
    assert "\\x1b[<value>m" in told.out


def test_help_leads_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Both helps."""
    assert run(["import", "--help"]) == 0
    assert "assay import git" in capsys.readouterr().out
    assert run(["import", "git", "--help"]) == 0
    assert "--hold-out" in capsys.readouterr().out
