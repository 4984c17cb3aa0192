"""Real shells at a terminal, with the line that the installer adds; those of bash, zsh and fish that are here."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from synth.cli.program import run
from synth.hooks import typed
from synth.hooks.shell import install_shell, records, started_by, uninstall_shell
from synth.hooks.traces import trace_of, traces_of
from synth.interface import ExecutionTrace
from synth.store.moments import Moment
from synth.store.tasks import Store
from synth.tracing.traces import to_evidence

ROOT = Path(__file__).parents[2]
READY = "READY"
PROMPT = re.compile(READY + r"> (?:\s|\x1b\[[^a-zA-Z]*[a-zA-Z]|\x1b[^\[\]]|\x1b\].*?(?:\x07|\x1b\\))*\Z")
RC = {
    "bash": f"PS1='{READY}> '\nHISTCONTROL=ignoreboth\nPROMPT_COMMAND=(true)\nset -u\n",
    "zsh": f"PS1='{READY}> '\nunsetopt prompt_cr prompt_sp\nsetopt hist_ignore_space no_unset\n",
    "fish": f"function fish_prompt; echo -n '{READY}> '; end\nset fish_greeting\n",
}
SHELLS = [name for name in RC if shutil.which(name)]
QUICK = pytest.mark.parametrize("shell", [name for name in SHELLS if name != "fish"], indirect=True)
"""fish takes a second for each line that is typed at it."""


class Terminal:
    """A shell at a terminal of its own."""

    def __init__(self, shell: str, home: Path, where: Path) -> None:
        env = {"HOME": str(home), "PATH": os.environ["PATH"], "TERM": "dumb", "SHELL": f"/bin/{shell}", "LANG": "C.UTF-8"}
        self.master, end = pty.openpty()
        words = ["setsid", "-c", shell, "-i"]
        self.process = subprocess.Popen(words, stdin=end, stdout=end, stderr=end, env=env, cwd=where)
        os.close(end)
        self.shown = self.wait()

    def wait(self) -> str:
        """What is shown until the next prompt."""
        text, until = "", time.monotonic() + 30
        while time.monotonic() < until:
            if select.select([self.master], [], [], 0.1)[0]:
                text += os.read(self.master, 4096).decode("utf-8", "replace")
            elif PROMPT.search(text):
                return text.rpartition(f"{READY}> ")[0]
        raise AssertionError(f"no prompt after {text!r}")

    def type(self, line: str) -> str:
        os.write(self.master, line.encode() + b"\n")
        return self.wait()

    def close(self) -> None:
        os.write(self.master, b"exit\n")
        self.process.wait(timeout=20)
        os.close(self.master)


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Installed, with a start-up file of the person's own."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("ZDOTDIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    name = str(request.param)
    own = tmp_path / "home" / {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish"}[name]
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(RC[name])
    install_shell(name, None, tmp_path / "store")
    return name


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(typed, "look_later", lambda store, task: None)
    return Store(tmp_path / "store")


@pytest.fixture
def projects(tmp_path: Path) -> list[Path]:
    found = [tmp_path / "one", tmp_path / "two", tmp_path / "none"]
    for place in found:
        place.mkdir()
        (place / "a.txt").write_text("a\n")
    for place in found[:2]:
        subprocess.run(["git", "init", "-q"], cwd=place, check=True)
    return found


@pytest.fixture
def terminal(shell: str, projects: list[Path], tmp_path: Path) -> Iterator[Terminal]:
    found = Terminal(shell, tmp_path / "home", projects[0])
    yield found
    found.close()


def ended(store: Store, tasks: int, seconds: float = 20) -> list[Path]:
    """The closed tasks, as soon as there are so many."""
    until = time.monotonic() + seconds
    while len(store.tasks()) < tasks and time.monotonic() < until:
        time.sleep(0.2)
        typed.sweep(store)
    return store.tasks()


def pictured(store: Store, seconds: float = 20) -> None:
    """Waits until the project is pictured as the last command left it, as a person does who reads before typing on."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if all(typed._seen_at(store.events(t), typed._ended_at(spool_of(store, t))) for t in store.open_tasks()):
            return
        time.sleep(0.1)


def spool_of(store: Store, task: Path) -> Path:
    return Path(str(store.events(task)[0]["spool"]))


def test_what_is_typed_becomes_traces(shell: str, projects: list[Path], store: Store, tmp_path: Path) -> None:
    """Commands with exit codes, trees before and after; another project is another task, and what is no project is none."""
    one, two, none = projects
    at = Terminal(shell, tmp_path / "home", one)
    assert "a.txt" in at.type("ls")
    at.type("mv a.txt 'b c.txt'")
    at.type("")
    assert "1" in at.type("false || sh -c 'exit 1'; echo 1")
    at.type("ls nosuch")
    at.type("mkdir -p d && echo x > d/e")
    at.type(f"cd {none}")
    at.type("touch unseen")
    at.type(f"cd {two}")
    at.type("rm a.txt")
    pictured(store)
    at.close()
    tasks = ended(store, 2)
    assert (len(tasks), store.open_tasks(), store.errors()) == (2, [], [])
    first, second = (trace_of(store, task) for task in tasks)
    assert isinstance(first, ExecutionTrace), first
    assert isinstance(second, ExecutionTrace), second
    assert first.commands == (
        "ls", "mv a.txt 'b c.txt'", "false || sh -c 'exit 1'; echo 1", "ls nosuch", "mkdir -p d && echo x > d/e",
    )  # fmt: skip
    assert first.exit_codes == (0, 0, 0, 2, 0)
    evidence = to_evidence(first)
    assert evidence.base is not None
    assert evidence.post is not None
    assert (sorted(evidence.base), sorted(evidence.post)) == (["a.txt"], ["b c.txt", "d", "d/e"])
    assert first.task_description.startswith("ls; mv a.txt 'b c.txt'")
    assert (second.commands[0], second.post_workspace) == ("rm a.txt", {})
    assert all(p.stat().st_mode & 0o77 == 0 for p in (store.root / "shell").iterdir() if p.suffix != ".lock")


@QUICK
def test_a_task_can_be_named(terminal: Terminal, projects: list[Path], store: Store) -> None:
    """By what it is for; what was typed before is another task."""
    start = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from synth.cli import main; main()"
    program = projects[2] / "assay"
    program.write_text(f"#!{sys.executable}\n{start}\n")
    program.chmod(0o755)
    terminal.type("touch before")
    assert "error" not in terminal.type(f"{program} hook task 'Throw a away' --store {store.root}")
    terminal.type("rm a.txt")
    assert len(store.tasks()) == 1
    terminal.type(f"cd {projects[1]}")
    terminal.type("ls")
    (_, trace) = (trace_of(store, task) for task in ended(store, 2))
    assert isinstance(trace, ExecutionTrace), trace
    assert (trace.task_description, trace.commands[0]) == ("Throw a away", "rm a.txt")


@QUICK
def test_a_command_that_the_shell_does_not_keep_makes_no_trace(terminal: Terminal, store: Store, projects: list[Path]) -> None:
    """One that begins with a blank is nobody's business; nor can the task be repeated without it."""
    terminal.type("touch b")
    terminal.type(" touch hidden")
    terminal.type(f"cd {projects[1]}")
    terminal.type("ls")
    (task, *_) = ended(store, 1)
    assert "was not seen" in str(trace_of(store, task))
    assert not any(b"hidden" in p.read_bytes() for p in store.root.rglob("*.jsonl"))


@QUICK
def test_what_is_due_is_said_when_a_shell_starts(shell: str, projects: list[Path], store: Store, tmp_path: Path) -> None:
    """Once: wherever it starts, it is not in the project yet."""
    store.moments.put(Moment("k", "t", "/p", "shell", ("f",), "/r", "assay: t was done 3 times.", time.time()), "due")
    for said in (True, False):
        at = Terminal(shell, tmp_path / "home", projects[2])
        assert ("assay: t was done 3 times." in at.shown) == said
        at.close()
    assert store.errors() == []


@pytest.mark.parametrize("lost", ["entry", "python", "store", "snippet"])
def test_the_shell_is_itself_where_assay_is_gone(
    shell: str, projects: list[Path], store: Store, tmp_path: Path, lost: str
) -> None:
    """The program removed, the store unwritable, the snippet deleted: no word, no delay, exit codes as they are."""
    snippet = store.root / "shell" / f"hook.{shell}"
    text = snippet.read_text()
    if lost == "entry":
        snippet.write_text(text.replace("entry.py", "nosuch.py"))
    elif lost == "python":
        snippet.write_text(text.replace(sys.executable, "/bin/false"))
    elif lost == "snippet":
        snippet.unlink()
    at = Terminal(shell, tmp_path / "home", projects[0])
    if lost == "store":
        shutil.rmtree(store.root)
        store.root.write_text("a file")
    assert not re.search("assay|rror|such", at.shown)
    began = time.monotonic()
    status = "$status" if shell == "fish" else "$?"
    at.type("sh -c 'exit 7'")
    assert "is 7" in at.type(f"echo is {status}")
    assert time.monotonic() - began < 10
    at.close()
    if lost != "store":
        assert traces_of(store) == ([], [])


def test_the_line_comes_and_goes_without_a_trace(shell: str, store: Store, projects: list[Path]) -> None:
    """However often it was put in; what a person changes meanwhile stays."""
    path = started_by(shell)
    kept = path.read_bytes()
    assert (records(shell), kept.count(b"# assay-hook\n")) == (True, 1)
    install_shell(shell, projects[0], store.root)
    assert path.read_bytes() == kept
    assert uninstall_shell(shell, store.root)
    assert not uninstall_shell(shell, store.root)
    assert path.read_text() == RC[shell] if shell != "fish" else not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    for before in (b"", b"export \xff=1", b"a\r\nb"):
        path.write_bytes(before)
        install_shell(shell, None, store.root)
        assert uninstall_shell(shell, store.root)
        assert path.read_bytes() == before
        install_shell(shell, None, store.root)
        path.write_bytes(path.read_bytes() + b"alias x=y\n")
        assert uninstall_shell(shell, store.root)
        assert path.read_bytes() == before + (b"\n" if before else b"") + b"alias x=y\n"


def test_a_start_up_file_elsewhere_stays_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """People keep theirs in a repository."""
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "bashrc").write_text("x=1\n")
    (tmp_path / ".bashrc").symlink_to("dotfiles/bashrc")
    monkeypatch.setenv("HOME", str(tmp_path))
    install_shell("bash", None, tmp_path / "store")
    assert (tmp_path / ".bashrc").is_symlink()
    assert (tmp_path / "dotfiles" / "bashrc").read_text().startswith("x=1\nif [ -r ")


def test_the_command_says_which_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """That of $SHELL, or the one that is named."""
    monkeypatch.setenv("HOME", str(tmp_path))
    kept = ["--store", str(tmp_path / "store")]
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert run(["hook", "install", "--agent", "shell", *kept]) == 2
    monkeypatch.setenv("SHELL", "/usr/bin/bash")
    assert run(["hook", "install", "--agent", "shell", *kept]) == 0
    assert run(["hook", "status", *kept]) == 0
    assert run(["hook", "uninstall", "--agent", "shell", "--shell", "zsh", *kept]) == 4
    assert run(["hook", "uninstall", "--agent", "shell", *kept]) == 0
    assert run(["hook", "task", "x", *kept]) == 2
    told = capsys.readouterr()
    assert "bash: records\n" in told.out
    assert "tcsh, which cannot be recorded" in told.err
    assert "this shell does not record here" in told.err
    assert not (tmp_path / ".bashrc").exists()


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", []),
        (b"E\x001\x000\0\0", []),
        (b"B\x001\0/p\0ls\0E\x002\x000\0\0B\x003\0/p\0vi", [("ls", 0)]),
        (b"B\x001\0/p\0ls\0B\x002\0/p\0cat\0E\x003\x001\0\0", [(None, 0), ("cat", 1)]),
        (b"B\x001\0/p\0ls\0E\x001\x000\0\0E\x003\x001\0\0", [("ls", 0), (None, 0)]),
        (b"B\x001\0B\x002\0/p\0ls\0E\x003\x000\0\0", [(None, 0)]),
        (b"U\x001\0/p\0\0E\x002\x000\0\0", [(None, 0)]),
        (b"B\x001\0/\xff\0a\nb\0E\x002\x00130\0\0\n", [("a\nb", 130)]),
    ],
)
def test_a_spool_is_read_as_far_as_it_goes(tmp_path: Path, data: bytes, found: list[tuple[str | None, int]]) -> None:
    """Cut off anywhere, without a beginning, in no encoding; what a full disk took is missed."""
    (tmp_path / "1.spool").write_bytes(data)
    assert [(c.command, c.exit) for c in typed.commands(tmp_path / "1.spool")] == found


def test_a_shell_does_not_wait_for_a_large_project(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What begins then is not recorded, and the log says so."""
    monkeypatch.setattr(typed, "BEGIN_S", 0.1)
    monkeypatch.setattr("synth.store.tasks.picture_of", lambda *args: time.sleep(20))
    began = time.monotonic()
    words = {"--event": "begin", "--spool": str(tmp_path / "1.spool"), "--root": str(tmp_path), "--cwd": str(tmp_path)}
    assert typed.typed(words, store) == ""
    assert time.monotonic() - began < 5
    assert not (tmp_path / "1.spool").exists()
    assert store.open_tasks() == []
    assert "took more than 0.1 s" in store.errors()[0]


def test_bad_calls_are_noted(store: Store, tmp_path: Path) -> None:
    """Never an exception: a shell waits."""
    for words in ({}, {"--event": "begin", "--spool": str(tmp_path / "x.spool")}):
        assert typed.typed(words, store) == ""
    assert len(store.errors()) == 2
