"""Installed beside distributions that have packages of the same names: every file stays whole, and each is used."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MADE = {
    "verifiers": {
        "verifiers/__init__.py": "WHO = 'theirs'\n",
        "verifiers/interface.py": "x = 1\n",
        "verifiers/cli/__init__.py": "",
    },
    "synth": {"synth.py": "WHO = 'theirs'\n"},
    "sandbox": {"sandbox/__init__.py": "WHO = 'theirs'\n", "sandbox/interface.py": ""},
}
"""Distributions with files in the places of those on PyPI: a package, a module, a package with a module that ours has too."""


def wheel(folder: Path, name: str, files: dict[str, str]) -> Path:
    """The smallest wheel that pip installs."""
    info = f"{name}-9.0.dist-info"
    meta = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    path = folder / f"{name}-9.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as packed:
        record = "".join(f"{file},,\n" for file in (*files, *meta, f"{info}/RECORD"))
        for file, text in {**files, **meta, f"{info}/RECORD": record}.items():
            packed.writestr(file, text)
    return path


def rivals(folder: Path) -> list[Path]:
    """Made ones, and those that a session downloaded: ``nox -s beside`` does, from PyPI."""
    given = os.environ.get("ASSAY_RIVALS")
    real = sorted(Path(given).glob("*.whl")) if given else []
    taken = {path.name.split("-")[0] for path in real}
    return real + [wheel(folder, name, files) for name, files in MADE.items() if name not in taken]


class Environment:
    """A fresh one that sees the dependencies of this one, and nothing of this repository."""

    def __init__(self, folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        self.bin, self.python = folder / "bin", folder / "bin" / "python"
        self.home = folder.parent
        self.site = Path(self.run("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip())
        (self.site / "zz_dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")

    def install(self, *wheels: Path) -> None:
        pip = [sys.executable, "-m", "pip", "--python", self.python, "install", "-q", "--no-deps", "--no-index", "--no-compile"]
        subprocess.run([*pip, *wheels], check=True)

    def call(self, *argv: str | Path) -> subprocess.CompletedProcess[str]:
        settings = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        return subprocess.run(argv, cwd=self.home, env=settings, capture_output=True, text=True, check=False)

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        return self.call(self.python, *argv)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(build, cwd=ROOT, capture_output=True, check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module", params=["ours first", "ours last"])
def beside(request: pytest.FixtureRequest, ours: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("beside")
    made = Environment(folder / "env")
    others = rivals(folder)
    for one in (ours, *others) if request.param == "ours first" else (*others, ours):
        made.install(one)
    return made


def packed(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as wheel:
        return {name: wheel.read(name) for name in wheel.namelist() if ".dist-info/" not in name and not name.endswith("/")}


def test_no_file_lies_where_another_distribution_has_one(ours: Path, beside: Environment) -> None:
    """Whatever is installed first or last: each distribution's files are the bytes of its wheel."""
    for path in (ours, *rivals(beside.home)):
        for name, content in packed(path).items():
            assert (beside.site / name).read_bytes() == content, name


def test_the_command_uses_its_own(beside: Environment) -> None:
    """The console script judges a skill; nothing is said of the others."""
    skill = ROOT / "fixtures" / "skills" / "rename_ext"
    done = beside.call(beside.bin / "assay", "verify", skill, "--static", "--no-cache")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("PASS")


def test_the_others_are_still_what_they_were(beside: Environment) -> None:
    """Without a word of ours, their names mean theirs."""
    for name in MADE:
        found = beside.run("-c", f"import importlib.util as u; print(u.find_spec({name!r}).origin)")
        assert Path(found.stdout.strip()).is_relative_to(beside.site), found.stderr
        assert "skill_assay_packages" not in found.stdout


def test_a_program_says_whose_it_wants(beside: Environment) -> None:
    """``import skill_assay`` first gives our API; after the other one's package it is an error that says so."""
    done = beside.run("-c", "import skill_assay, verifiers.verify; from synth.api import Workspace; print(Workspace.__name__)")
    assert (done.stdout.strip(), done.stderr) == ("Workspace", "")
    done = beside.run("-c", "import sandbox, skill_assay")
    assert "ImportError: the package 'sandbox' at" in done.stderr
    assert "import skill_assay before it" in done.stderr
    done = beside.run("-m", "skill_assay", "--version")
    assert done.stdout.startswith("assay ")


def test_alone_it_needs_no_word(ours: Path, tmp_path: Path) -> None:
    """Where no other distribution has the names, the API is imported as it is called; where one came later, it says which."""
    alone = Environment(tmp_path / "env")
    alone.install(ours)
    done = alone.run("-c", "import synth.api, sandbox; from skill_api import skill_command; print(sandbox.__file__)")
    assert done.stderr == ""
    assert Path(done.stdout.strip()).is_relative_to(alone.site / "skill_assay_packages")
    alone.install(wheel(tmp_path, "verifiers", MADE["verifiers"]))
    done = alone.run("-c", "import synth.api")
    assert "not skill-assay's, but of the distribution verifiers" in done.stderr
    assert "in a program, import skill_assay first" in done.stderr
