"""Wrong use and broken files: what each command says and how it ends, as one literal transcript (GOLDEN=write renews it)."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path

import pytest

from synth.cli.program import COMMANDS, OLD, run

ROOT = Path(__file__).parents[2]
TRANSCRIPT = ROOT / "tests" / "golden" / "wrong_input.txt"
CASES = """
assay
assay nosuch
assay record
assay record --task x
assay record --task ' ' -- ls
assay record --task x --workspace missing -- ls
assay record --task x --workspace syntax.py -- ls
assay record --task x --workspace folder -o /dev/full -- ls
assay import
assay import missing.jsonl
assay import empty.jsonl
assay import half.jsonl -o imported.jsonl
assay import bytes.jsonl
assay import lists.jsonl
assay import types.jsonl
assay import folder
assay import mixed -o /dev/null
assay import mixed/table.tsv
assay import mixed/.bash_history
assay import mixed/old.cast
assay import unknown.jsonl -o folder
assay import unknown.jsonl -o /dev/full
assay import unknown.jsonl -o syntax.py/x
assay import git
assay import git missing
assay import git folder
assay import git folder --hold-out -1
assay import git folder -o folder
assay import git folder --nosuch
assay hook
assay hook install --agent nosuch
assay hook install --agent claude-code --project . --store store
assay hook uninstall --agent codex --project . --store store
assay hook run --agent nosuch
assay hook install --agent shell --shell tcsh
assay hook install --agent shell --shell bash --store syntax.py/store
assay hook task x --store store
assay hook status --project . --store store
assay store
assay store show --store store
assay store export --store store
assay store export --store store -o imported.jsonl
assay store prune --store store --days -1
assay patterns
assay patterns half.jsonl
assay patterns types.jsonl
assay patterns bytes.jsonl
assay patterns folder
assay synth
assay synth missing.jsonl
assay synth unknown.jsonl
assay crystallize
assay crystallize types.jsonl
assay crystallize unknown.jsonl
assay crystallize unknown.jsonl --generator anthropic --llm-record a --llm-replay b
assay crystallize unknown.jsonl --llm-group
assay crystallize unknown.jsonl --generator anthropic --llm-effort huge
assay crystallize unknown.jsonl --generator anthropic --llm-max-cost -1
assay crystallize unknown.jsonl --generator openai --llm-batch
assay crystallize unknown.jsonl --generator ollama
assay registry drift
assay registry drift missing
assay registry drift folder
assay registry drift folder --until
assay registry drift folder --registry folder
assay registry lift unknown.jsonl
assay registry lift unknown.jsonl --agent nosuch
assay registry lift unknown.jsonl --agent codex --limit 0
assay registry evolve
assay registry evolve nosuch
assay registry evolve missing/dir
assay registry evolve folder
assay registry evolve empty.py
assay registry evolve draft --generator embedded
assay registry evolve draft --hold-out 0
assay registry evolve draft missing.jsonl
assay registry evolve draft
assay crystallize unknown.jsonl --together a
assay patterns unknown.jsonl --together nosuch,other
assay verify
assay verify missing.py
assay verify missing
assay verify folder --static
assay verify bytes.py --static
assay verify empty.py --static
assay verify syntax.py --static
assay verify half.jsonl --static
assay verify draft --checks nosuch
assay verify draft --exclude t1
assay verify draft --exclude t1=typo
assay verify draft --evidence missing.jsonl
assay verify draft --bindings missing.json
assay verify draft --bindings syntax.py
assay verify draft --decisions missing.jsonl
assay verify draft --decisions empty.jsonl
assay verify draft --decisions half.jsonl
assay verify draft --decisions bytes.jsonl
assay verify draft --evidence half.jsonl
assay verify draft --evidence types.jsonl
assay verify draft --static --format nope
assay verify draft --static -o folder
assay verify draft --static -o syntax.py/x.sarif
assay answer
assay answer draft 1
assay answer draft one --skill
assay answer draft 1 --skill --invalid
assay answer missing.py 1 --skill
assay answer syntax.py 1 --skill
assay answer draft 1 --skill --decisions empty.jsonl
assay answer draft 1 --skill --report missing.json
assay answer draft 1 --skill --report object.json
assay verify --fix
assay verify --fix syntax.py
assay verify --fix folder
assay gate
assay gate missing --static
assay gate folder --static
assay gate tree --static
assay gate draft --static --policy missing.yaml
assay gate draft --static --policy bytes.jsonl
assay gate draft --static --policy key.yaml
assay gate draft --static --policy check.yaml
assay gate draft --static --since HEAD
assay gate draft --static --require-attestation missing.pub
assay gate draft --static --scheduler nonsense
assay run
assay run missing
assay run draft --args '{'
assay run draft --args '[1]'
assay run draft --args @missing
assay run draft --args @bytes.jsonl
assay run draft --workspace missing
assay replay
assay replay draft --trace nosuch
assay replay draft --errno-at write
assay replay draft --errno-at write:1:ENOTREAL
assay replay draft --check nosuch
assay replay draft --keep draft
assay verify draft --against
assay verify draft --recorded
assay verify draft --fix --watch
assay verify syntax.py --explain generalises
assay verify missing --against draft
assay verify --explain nosuch
assay registry
assay registry list
assay registry list --registry broken
assay registry show x --registry folder
assay registry bench x 2
assay route
assay route x --registry missing
assay feedback x maybe
assay export x
assay export x --to omni
assay export --to agentskills -o out --release
assay registry attest
assay registry attest keygen missing/key
assay registry attest sign draft --report missing --key key
assay registry attest sign draft --report half.jsonl --key key
assay registry attest verify draft --key missing
assay registry attest verify draft --key syntax.py
assay report
assay report missing
assay report folder
assay report half.jsonl
assay report bytes.jsonl
assay report object.json
assay report none.json
assay report gate.json
assay registry metrics --format nope
assay registry metrics --format json
assay registry metrics -o folder
assay engine
assay engine image --package 'a;b'
assay engine image --requirements missing.txt
assay engine image --requirements syntax.py/x
assay engine image --requirements needs.txt
assay engine image --package-json half.jsonl
assay engine image --package-json none.json
assay engine image --dockerfile syntax.py
assay engine image --dockerfile none.json
assay engine status --host unix:///nowhere.sock --no-probe
assay mcp --workers 0
assay mcp --http nowhere
assay mcp --http 8000
assay mcp --token-file token
assay mcp --http 8000 --token-file missing
assay config init -o folder
assay config init -o syntax.py
assay config completion tcsh
assay config trust missing.yaml
assay explain nosuch
assay fix
assay diff draft
assay lift
assay evolve
assay drift
assay attest
assay metrics -o folder
assay init -o folder
assay trust missing.yaml
assay completion tcsh
"""


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a file of every broken kind, and nothing configured."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    for name in ("CI", "PRJ_DATA", "ASSETS", "GITHUB_STEP_SUMMARY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    trace = (ROOT / "fixtures" / "demo" / "rename.jsonl").read_text(encoding="utf-8").splitlines()[0]
    files = {
        "half.jsonl": f"{trace}\n{trace[: len(trace) // 2]}", "empty.jsonl": "", "lists.jsonl": '[1]\n"x"\n', "none.json": "[]",
        "types.jsonl": trace.replace('"success": true', '"success": "yes"'), "unknown.jsonl": f'{{"new": 1, {trace[1:]}\n',
        "empty.py": "", "syntax.py": "def f(:\n", "key.yaml": "requird: [contained]\n", "check.yaml": "required: [contain]\n",
        "object.json": "{}", "gate.json": '{"schema": "assay-gate/1", "reports": []}', "broken/registry.db": "no database",
        "mixed/a.txt": "## look\n$ ls\na\n", "mixed/table.tsv": "a\tb\nc\td\n", "mixed/.bash_history": "ls\nmake\n",
        "mixed/old.cast": '{"version": 1, "width": 80, "stdout": []}',
        "needs.txt": "fine\n-e .\n", "tree/one/skill.py": "def f(:\n", ".claude/settings.json": "// no JSON",
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    for name in ("bytes.jsonl", "bytes.py", "tree/two/skill.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"\xff\xfe\x00")
    (tmp_path / "folder").mkdir()
    shutil.copytree(ROOT / "fixtures" / "broken" / "append_line", tmp_path / "draft")
    return tmp_path


def test_what_is_said(scratch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each case: the command line, its stdout, its stderr, its exit code. Never an internal error."""
    lines = []
    for command in CASES.strip().splitlines():
        code = run(shlex.split(command)[1:])
        told = capsys.readouterr()
        stderr = "".join(f"! {line}\n" for line in told.err.splitlines())
        lines.append(f"$ {command}\n{told.out}{stderr}[{code}]\n")
    text = "\n".join(lines).replace(str(scratch), "/scratch")
    text = re.sub(r"\d+\.\d+ s\b", "N s", text)
    if os.environ.get("GOLDEN") == "write":
        TRANSCRIPT.write_text(text, encoding="utf-8")
    assert text == TRANSCRIPT.read_text(encoding="utf-8")
    assert "internal error" not in text
    assert "Traceback" not in text


def test_every_command_is_in_it() -> None:
    """No command is left out."""
    assert {line.split()[1] for line in CASES.strip().splitlines()[2:]} == {*COMMANDS, *OLD}


def test_nothing_is_lost_or_left(scratch: Path) -> None:
    """A recording whose file cannot be written does not run; a refused import changes no file; nothing new lies about."""
    before = {p: p.read_bytes() for p in scratch.rglob("*") if p.is_file()}
    assert run(["record", "--task", "x", "--workspace", "folder", "-o", "/dev/full/x", "--", "touch ran"]) == 2
    assert run(["import", "types.jsonl", "-o", "unknown.jsonl"]) == 2
    assert run(["import", "unknown.jsonl", "-o", "syntax.py/x"]) == 2
    assert {p: p.read_bytes() for p in scratch.rglob("*") if p.is_file()} == before
