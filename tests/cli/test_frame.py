"""The command line's frame: help, exit codes, errors on one line, what goes where."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.interface import Cause, SandboxError
from synth.cli import console, program
from synth.cli.home import forget_what_was_said
from synth.cli.outputs import FORMATS, Output, plan
from synth.cli.program import COMMANDS, assay, run
from verifiers.interface import ConfigError, Inconclusive, NothingToVerify, Verdict

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parents[1] / "golden"


def assay_process(*args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "synth.cli", *args], capture_output=True, text=True, cwd=cwd, check=False)


def test_help_is_as_recorded(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The first thing that anybody reads changes only on purpose."""
    monkeypatch.setenv("COLUMNS", "100")
    assert run(["--help"]) == 0
    assert capsys.readouterr().out == (GOLDEN / "help.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_is_there(name: str) -> None:
    """Each listed command loads, and its one line of help is the one that the list shows."""
    with click.Context(assay) as ctx:
        command = assay.get_command(ctx, name)
    assert command is not None
    assert command.get_short_help_str(200).rstrip(".") == COMMANDS[name][1].rstrip(".")
    assert command.help


def test_help_loads_no_command() -> None:
    """``--help`` imports none of the heavy parts: the program starts at once."""
    program = "import sys; from synth.cli.program import run; run(['--help']); print(sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    for heavy in ("libcst", "hypothesis", "docker", "anthropic", "pydantic", "rich", "synth.cli.verify"):
        assert f"'{heavy}'" not in done.stderr


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ConfigError("a key is unknown", "Remove it", "assay.yaml"), 2, "error: assay.yaml: a key is unknown. Remove it\n"),
        (Inconclusive("no evidence"), 3, "error: no evidence\n"),
        (NothingToVerify("no skill", "Give a directory"), 4, "error: no skill. Give a directory\n"),
        (SandboxError(Cause.ENGINE_MISSING, "no engine", "Start one"), 3, "error: no engine. Start one\n"),
        (click.UsageError("no such option: --x"), 2, "error: no such option: --x (see: assay engine --help)\n"),
        (KeyboardInterrupt(), 130, "\nerror: interrupted\n"),
        (ConfigError("bad\nname \x1b[31m"), 2, "error: bad\\nname \\x1b[31m\n"),
    ],
)
def test_errors_are_one_line_and_a_code(
    error: BaseException, code: int, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each kind of error has its exit code and one escaped line on stderr; stdout stays empty."""

    @click.command("engine")
    def broken() -> None:
        raise error

    monkeypatch.setattr(program.LazyGroup, "get_command", lambda self, ctx, name: broken)
    assert run(["engine"]) == code
    told = capsys.readouterr()
    assert told.err == line
    assert told.out == ""


def test_a_lost_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said, and nothing is tried from there."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert run(["gate", str(tmp_path)]) == 2
    assert "working directory does not exist" in capsys.readouterr().err
    monkeypatch.chdir(tmp_path)


def test_internal_error_leaves_a_note(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A bug is exit 70, one line, and a file with the traceback."""

    @click.command("engine")
    def broken() -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(program.LazyGroup, "get_command", lambda self, ctx, name: broken)
    assert run(["engine"]) == 70
    told = capsys.readouterr().err
    assert told.startswith("error: internal error: ZeroDivisionError: a bug")
    assert "ZeroDivisionError" in (tmp_path / "skill-assay" / "crash.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["no-such-command"], 2),
        (["verify"], 2),
        (["verify", "no-such-file.py"], 2),
        (["verify", ".", "--checks", "no-such-check"], 2),
        (["verify", ".", "--exclude", "t1"], 2),
        (["gate", "empty"], 4),
        (["verify", "--explain", "no-such-check"], 2),
        (["crystallize", "empty"], 4),
        (["patterns", "empty"], 4),
        (["registry", "list", "--registry", "nowhere"], 4),
        (["run", "no-such-skill", "--args", "[1]"], 2),
        (["report", "no-such-file.json"], 2),
    ],
)
def test_wrong_use_has_its_code(
    argv: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wrong input ends with the right code and one line that starts with ``error:``."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    assert run(argv) == code
    told = capsys.readouterr().err.strip().splitlines()
    assert told[-1].startswith("error: "), told


def test_nothing_is_created_by_looking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that only look leave no files behind."""
    monkeypatch.chdir(tmp_path)
    run(["registry", "list"])
    run(["route", "rename txt to md"])
    run(["patterns"])
    run(["registry", "metrics"])
    assert list(tmp_path.iterdir()) == []


def test_a_misspelt_output_makes_no_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Said before any work, with the first part of the path that is not there."""
    (tmp_path / "skill.py").write_text("def broken(:\n", encoding="utf-8")
    wrong = tmp_path / "missing" / "deeper" / "x.json"
    for argv in (
        ["verify", str(tmp_path), "--static", "--no-cache", "-o", str(wrong)],
        ["record", "--task", "t", "-o", str(wrong), "--", "true"],
        ["export", "x", "--to", "agentskills", "-o", str(wrong)],
        ["registry", "metrics", "-o", str(wrong)],
        ["synth", str(ROOT / "fixtures" / "demo" / "rename.jsonl"), "--drafts", str(wrong)],
    ):
        assert run(argv) == 2, argv
        assert f"there is no directory {tmp_path / 'missing'}. Make it first" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["skill.py"]


def test_a_cache_without_room_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One warning that names it; the verdict is the same and nothing is left behind in it."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "file").write_text("x")
    usage = shutil.disk_usage
    full = usage(tmp_path)._replace(free=0)
    monkeypatch.setattr("shutil.disk_usage", lambda path: full if "cache" in str(path) else usage(path))
    skill = str(ROOT / "fixtures" / "skills" / "rename_ext")
    for cache in (tmp_path / "cache", tmp_path / "file" / "below"):
        forget_what_was_said()
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
        assert run(["verify", skill, "--static"]) == 0
        assert capsys.readouterr().err.count(f"warning: the cache in {cache} is not used: ") == 1
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_full_disk_is_named() -> None:
    """Where standard output goes to a file on a full disk, the file is what the error is about."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "synth.cli", "verify", "--explain", "all"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == (
        "error: /dev/full (standard output) cannot be written: No space left on device. Make room, or write elsewhere\n"
    )


# ---------------------------------------------------------------- outputs


def test_plan_pairs_files_with_formats() -> None:
    """A suffix decides; a format that no file takes goes to stdout; plain does when none is left."""
    sarif, report = Path("a.sarif"), Path("report")
    assert plan([], []) == [Output("plain", None)]
    assert plan(["json"], []) == [Output("json", None)]
    assert plan([], [sarif]) == [Output("sarif", sarif), Output("plain", None)]
    assert plan(["junit"], [report]) == [Output("junit", report), Output("plain", None)]
    assert plan(["json", "sarif"], [sarif]) == [Output("sarif", sarif), Output("json", None)]
    quality = Path("quality.json")  # what is said for a file goes before its suffix
    assert plan(["junit", "gitlab"], [report, quality])[:2] == [Output("junit", report), Output("gitlab", quality)]
    assert plan(["github"], [sarif, quality])[1:] == [Output("json", quality), Output("github", None)]
    assert plan(["github"], [sarif]) == [Output("sarif", sarif), Output("github", None)]
    assert plan(["gitlab"], [quality]) == [Output("gitlab", quality), Output("plain", None)]
    assert plan(["github"], [quality]) == [Output("json", quality), Output("github", None)]
    assert plan(["github"], [Path("log.txt")]) == [Output("github", Path("log.txt")), Output("plain", None)]
    assert plan(["json"], [Path("r.sarif")], ("plain", "json")) == [Output("json", Path("r.sarif")), Output("plain", None)]
    assert plan(["json"], [Path("out.json")]) == [Output("json", Path("out.json")), Output("plain", None)]


@pytest.mark.parametrize(("formats", "files"), [(["json", "sarif"], []), ([], [Path("report")])])
def test_plan_refuses_what_is_not_clear(formats: list[str], files: list[Path]) -> None:
    """Two formats for one stdout, or a file of no format, are usage errors."""
    with pytest.raises(click.UsageError):
        plan(formats, files)


@given(
    st.lists(st.sampled_from(FORMATS), max_size=3),
    st.lists(st.sampled_from(["a.json", "b.md", "c", "d.xml"]), max_size=3, unique=True),
)
def test_plan_writes_each_file_once(formats: list[str], files: list[str]) -> None:
    """Whatever is asked for: every file is written once, and stdout gets exactly one text."""
    paths = [Path(f) for f in files]
    try:
        planned = plan(formats, paths)
    except click.UsageError:
        return
    assert sorted(str(o.path) for o in planned if o.path is not None) == sorted(files)
    assert sum(o.path is None for o in planned) == 1


@given(st.text())
def test_escape_leaves_nothing_that_steers_a_terminal(text: str) -> None:
    """No control character but newline and tab gets through; plain text is untouched."""
    shown = console.escape(text)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown)
    if text.isascii() and text.isprintable():
        assert shown == text


def test_verdicts_have_exit_codes() -> None:
    """0 pass, 1 fail, 3 inconclusive."""
    from synth.cli.exits import exit_code

    assert [exit_code(v) for v in (Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE)] == [0, 1, 3]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each shell gets a script that calls the program back."""
    assert run(["config", "completion", shell]) == 0
    assert "_ASSAY_COMPLETE" in capsys.readouterr().out


def test_init_writes_the_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The written configuration is valid, says nothing but the defaults, and is not overwritten."""
    from synth.config import Config, load_config

    monkeypatch.chdir(tmp_path)
    assert run(["config", "init"]) == 0
    loaded, defaults = load_config(), Config.default(tmp_path)
    assert (loaded.evolution, loaded.verify, loaded.llm) == (defaults.evolution, defaults.verify, defaults.llm)
    assert run(["config", "init"]) == 2
    uncommented = re.sub(r"(?m)^  # ", "  ", (tmp_path / "assay.yaml").read_text(encoding="utf-8"))
    (tmp_path / "assay.yaml").write_text(uncommented, encoding="utf-8")
    again = load_config()
    assert (again.evolution, again.sandbox, again.hooks) == (defaults.evolution, defaults.sandbox, defaults.hooks)
