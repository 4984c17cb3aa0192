"""What a judged tree says about its own judge does not count, and no command runs that nobody trusted."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from synth.cli import home
from synth.cli.program import run
from synth.interface import RegistryEntry

SOURCE = (Path(__file__).resolve().parents[2] / "fixtures" / "skills" / "rename_ext" / "skill.py").read_text(encoding="utf-8")
ENTRY = RegistryEntry("x", "v", "active", 0.5, 0.6, "d", datetime.now(UTC), "r", "p")


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without settings, and nothing said yet."""
    for name in ("CI", "PRJ_DATA", "ASSETS", "DOCKER_HOST"):
        monkeypatch.delenv(name, raising=False)
    for name in ("CONFIG", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "home" / name.lower()))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "home" / "verdicts"))
    home.forget_what_was_said()


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A judged tree with a skill, and the working directory in it."""
    top = tmp_path / "tree"
    (top / "draft").mkdir(parents=True)
    (top / "draft" / "skill.py").write_text(SOURCE, encoding="utf-8")
    trace = {"task_id": "t", "task_description": "d", "commands": ["true"], "outputs": [""], "success": True}
    (top / "draft" / "evidence.jsonl").write_text(json.dumps(trace), encoding="utf-8")
    monkeypatch.chdir(top)
    return top


def git(where: Path, *words: str) -> None:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", *identity, *words], cwd=where, check=True, capture_output=True)


@pytest.fixture
def engine() -> Iterator[tuple[str, list[int]]]:
    """The address of something that counts who calls."""
    calls: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            while True:
                try:
                    peer, _ = server.accept()
                except OSError:
                    return
                calls.append(1)
                peer.close()

        threading.Thread(target=answer, daemon=True).start()
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}", calls


def test_a_change_cannot_choose_its_engine_in_ci(
    tree: Path, engine: tuple[str, list[int]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The engine that the tree names is contacted outside CI (it is the user's own) and never in CI, which is said once."""
    (tree / "assay.yaml").write_text(f"sandbox:\n  host: {engine[0]}\n", encoding="utf-8")
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    assert run(["gate", ".", "--checks", "effect-equivalent"]) == 3
    assert engine[1]
    engine[1].clear()
    capsys.readouterr()
    monkeypatch.setenv("CI", "true")
    assert run(["gate", ".", "--checks", "effect-equivalent"]) == 3
    assert not engine[1]
    assert capsys.readouterr().err.count("assay.yaml") == 1


def test_pyproject_and_directories_above_are_no_way_round(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the file's name and place: in CI nothing that is found by search counts."""
    (tree.parent / "pyproject.toml").write_text("[tool.assay.verify]\nmin_usable = 1\n", encoding="utf-8")
    assert home.config().verify.min_usable == 1
    monkeypatch.setenv("CI", "1")
    assert home.config().verify.min_usable == 3


def test_a_broken_file_in_the_tree_stops_nothing_in_ci(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not count need not be readable either."""
    (tree / "assay.yaml").write_text("evolution: [\n", encoding="utf-8")
    monkeypatch.setenv("CI", "true")
    assert home.config().source is None


def test_a_named_file_counts_in_ci(tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """``--config FILE`` is whoever wrote the CI job speaking."""
    monkeypatch.setenv("CI", "true")
    named = tree.parent / "ci.yaml"
    named.write_text("verify:\n  profile: omni\nconventions:\n  allow_imports: [markdown_it]\n", encoding="utf-8")
    (tree / "draft" / "skill.py").write_text(SOURCE.replace("import re", "import markdown_it"), encoding="utf-8")
    run(["--config", str(named), "gate", ".", "--static", "--checks", "conventions", "--format", "json"])
    assert "omni" in capsys.readouterr().out
    assert run(["--config", "nowhere.yaml", "patterns"]) == 2


def test_the_users_own_file_counts_in_ci(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside the tree it is the user's; inside the tree it is the tree's."""
    own = tmp_path / "home" / "config" / "skill-assay" / "assay.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("verify:\n  min_usable: 5\n", encoding="utf-8")
    monkeypatch.setenv("CI", "true")
    assert home.config().verify.min_usable == 5
    assert home.config().root == tree
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tree))
    (tree / "skill-assay").mkdir()
    (tree / "skill-assay" / "assay.yaml").write_text("verify:\n  min_usable: 1\n", encoding="utf-8")
    assert home.config().verify.min_usable == 3


def test_the_base_revisions_file_counts(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``--since`` the configuration is read from git, not from the work tree; a link there is none."""
    git(tree, "init", "-q")
    (tree / "assay.yaml").write_text("verify:\n  min_usable: 4\n", encoding="utf-8")
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "base")
    (tree / "assay.yaml").write_text("verify:\n  min_usable: 1\n", encoding="utf-8")
    monkeypatch.setenv("CI", "true")
    assert home.config(since="HEAD").verify.min_usable == 4
    assert home.config().verify.min_usable == 3
    (tree / "assay.yaml").unlink()
    (tree / "assay.yaml").symlink_to("verify: {min_usable: 1}")
    git(tree, "commit", "-qam", "a link")
    assert home.config(since="HEAD").verify.min_usable == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to give files away")
def test_a_strangers_files_do_not_count(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of another owner, in a directory that others write, or beside a judged directory of another owner: named and left."""
    planted = tmp_path / "assay.yaml"
    planted.write_text("verify:\n  min_usable: 1\n", encoding="utf-8")
    assert home.config().verify.min_usable == 1
    os.chown(tree / "draft", 12345, 12345)
    assert home.config(tree / "draft").verify.min_usable == 3
    os.chown(planted, 12345, 12345)
    assert home.config().verify.min_usable == 3
    os.chown(planted, 0, 0)
    tmp_path.chmod(0o1777)
    assert home.config().verify.min_usable == 3
    told = capsys.readouterr().err
    assert "another owner" in told
    assert "shared directory" in told
    assert told.count(str(planted)) == 3


def test_a_planted_command_does_not_run(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A command from a configuration runs once a person has trusted that very text, and not after another edit."""
    text = f"hooks:\n  command: ['touch {tmp_path / 'ran'}']\n"
    (tree.parent / "assay.yaml").write_text(text, encoding="utf-8")

    def change() -> bool:
        with home.open_registry() as registry:
            registry.announce("registered", ENTRY)
        return (tmp_path / "ran").exists()

    assert not change()
    assert "assay config trust" in capsys.readouterr().err
    assert run(["config", "trust"]) == 0
    assert change()
    (tmp_path / "ran").unlink()
    (tree.parent / "assay.yaml").write_text(f"{text}# another\n", encoding="utf-8")
    assert not change()
    assert run(["config", "trust", str(tree.parent / "assay.yaml")]) == 0
    assert run(["config", "trust", "--withdraw", str(tree.parent / "assay.yaml")]) == 0
    assert not change()
