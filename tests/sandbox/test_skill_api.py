"""What skills import: calling them directly works as their signatures say."""

from __future__ import annotations

import asyncio
import inspect
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox.guest import skill_api
from sandbox.guest.skill_api import MARK, NuError, Query, SkillConfig, nu, skill_command


@skill_command(autowire=True, category="files", read_only=True, retry_on=["x"])
def greet(name: str = Query(..., description="Whom"), mark: str = Query("!", description="End"), times: int = 1) -> str:
    """Greets. More."""
    return f"{name}{mark * times}"


def test_defaults_are_filled_in() -> None:
    """A direct call uses the declared default, not the marker."""
    assert greet("a") == "a!"
    assert greet(name="a", mark="?", times=2) == "a??"


def test_a_missing_required_argument_is_named() -> None:
    """So are unknown ones."""
    with pytest.raises(TypeError, match="'name'"):
        greet()
    with pytest.raises(TypeError, match="nme"):
        greet(nme="x")  # type: ignore[call-arg]


def test_coroutines_stay_coroutines() -> None:
    """The decorator keeps the kind of function."""

    @skill_command
    async def f(a: int = Query(3)) -> int:
        return a

    assert inspect.iscoroutinefunction(f)
    assert asyncio.run(f()) == 3


def test_what_the_decorator_was_told() -> None:
    """Configuration and parameters can be read back."""
    config: SkillConfig = getattr(greet, MARK)
    assert (config.name, config.description, config.category, config.read_only) == ("greet", "Greets. More.", "files", True)
    assert config.extra == {"retry_on": ["x"]}
    assert config.parameters["name"].required
    assert config.parameters["mark"].description == "End"
    assert config.parameters["times"].default == 1
    assert greet.__name__ == "greet"
    assert greet.__doc__ == "Greets. More."


def test_types_are_strict(tmp_path: Path) -> None:
    """mypy strict accepts the documented form."""
    file = tmp_path / "s.py"
    file.write_text(
        "from skill_api import Query, nu, skill_command\n\n\n@skill_command(autowire=True, idempotent=True)\n"
        "async def f(a: str = Query(..., description='x'), n: int = Query(1, description='y')) -> dict[str, object]:\n"
        "    return {'ok': nu.run('ls', a=a) is None}\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}", str(file)]
    env = {"MYPYPATH": str(Path(skill_api.__file__).parent)}
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stdout


def fake_nu(directory: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = directory / "nu"
    program.write_text(f"#!{sys.executable}\nimport sys, json\n{body}")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(directory))


def test_values_reach_nushell_as_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are on stdin; the script's text is the constant that the skill wrote."""
    fake_nu(tmp_path, "print(json.dumps([sys.argv[-1], json.load(sys.stdin)]))", monkeypatch)
    hostile: Any = "x'; rm -rf / #"
    script, values = nu.run("ls $values.pattern", pattern=hostile)
    assert values == {"pattern": hostile}
    assert hostile not in script
    assert "ls $values.pattern" in script


def test_nushells_own_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that fails raises with what Nushell said; no Nushell is said, too."""
    fake_nu(tmp_path, "sys.exit('no such column')", monkeypatch)
    with pytest.raises(NuError, match="no such column"):
        nu.run("get x")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(NuError, match="not installed"):
        nu.run("get x")
