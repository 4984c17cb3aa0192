"""The walls: which way imports go, which module may import which SDK, and that the packages are ours."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = {"sandbox": frozenset[str](), "verifiers": frozenset({"sandbox"}), "synth": frozenset({"sandbox", "verifiers"})}
"""Package -> the packages that it may import."""
HOMES = {
    "docker": "sandbox/engine.py",
    "anthropic": "synth/llm/messages.py",
    "openai": "synth/llm/completions.py",
    "distributed": "synth/fanout.py",
    "gepa": "synth/evolve/optimiser.py",
    "pyte": "synth/importers/terminal.py",
    "tree_sitter": "verifiers/shell/syntax.py",
    "tree_sitter_bash": "verifiers/shell/syntax.py",
}
"""SDK -> the one module that imports it."""


@cache
def modules() -> tuple[Path, ...]:
    return tuple(p for layer in LAYERS for p in sorted((ROOT / layer).rglob("*.py")))


def imports(path: Path) -> Iterator[str]:
    """Top-level names of everything that a module imports, at any depth of its code."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.split(".")[0]


def test_there_are_modules() -> None:
    """The other tests here are not vacuous."""
    assert len(modules()) > 50


@pytest.mark.parametrize("layer", sorted(LAYERS))
def test_imports_go_one_way(layer: str) -> None:
    """synth -> verifiers -> sandbox, never back."""
    forbidden = set(LAYERS) - LAYERS[layer] - {layer}
    wrong = [
        f"{p.relative_to(ROOT)} imports {name}"
        for p in modules()
        if p.relative_to(ROOT).parts[0] == layer
        for name in imports(p)
        if name in forbidden
    ]
    assert wrong == []


@pytest.mark.parametrize("sdk", sorted(HOMES))
def test_sdk_has_one_home(sdk: str) -> None:
    """Each SDK is imported by one module, which translates its exceptions."""
    importers = {p.relative_to(ROOT).as_posix() for p in modules() if sdk in set(imports(p))}
    assert importers == {HOMES[sdk]}


def test_no_imports_go_in_circles() -> None:
    """Whichever module a command imports first, it can be imported: with a circle that depends on what came before."""
    names = {_module_name(p): p for p in modules() if "guest" not in p.parts}
    before = {name: frozenset(_imported_at_once(name, path, names)) for name, path in names.items()}
    assert len(before["synth.registry.store"]) > 5
    graphlib.TopologicalSorter(before).prepare()


KNOTS = [
    {"verifiers.checks", "verifiers.conventions", "verifiers.mutation", "verifiers.search", "verifiers.source"},
    {"verifiers.formats", "verifiers.gating"},
]
"""Folders that still import each other."""


def test_no_folders_import_each_other() -> None:
    """A lower folder does not know a higher one. Known knots may only become smaller."""
    above: dict[str, set[str]] = {}
    for path in modules():
        here = _folder(_module_name(path))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and (there := _folder(node.module)) not in ("", here):
                above.setdefault(here, set()).add(there)
    for here, seen in above.items():
        while more := set().union(*(above.get(f, set()) for f in seen)) - seen:
            seen |= more
        knot = {f for f in seen if here in above.get(f, set())}
        assert not here or not knot or any(knot <= known for known in KNOTS), f"{here} is in a circle: {sorted(knot)}"


def _folder(module: str) -> str:
    """The folder of a layer that a module lies in; "" for those that lie loose in it, and for other packages."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] in LAYERS and len(parts) > 1 and (ROOT / parts[0] / parts[1]).is_dir() else ""


def _module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported_at_once(name: str, path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """Modules of ours that importing a module imports, with their packages; its own packages apart."""
    for node in _statements(ast.parse(path.read_text(encoding="utf-8")).body):
        if isinstance(node, ast.Import):
            wanted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            wanted = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for module in wanted:
            while module in known:
                if not f"{name}.".startswith(f"{module}."):
                    yield module
                module = module.rpartition(".")[0]


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run at import: not those of functions, nor those for the type checker alone."""
    for node in body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _statements([*getattr(node, "body", []), *getattr(node, "orelse", [])])


def test_no_module_is_called_after_a_dependency() -> None:
    """A module named ``docker`` or ``mypy`` would shadow the real one as soon as its folder is on the path."""
    text = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = text["project"]["optional-dependencies"].values()
    listed = [*text["project"]["dependencies"], *(d for extra in extras for d in extra)]
    names = {re.split(r"[^A-Za-z0-9_.-]", d)[0].lower().replace("-", "_") for d in listed} | {"yaml"}
    # Command modules are only ever imported as synth.cli.NAME.
    wrong = [p.relative_to(ROOT).as_posix() for p in modules() if p.stem in names and p.parent != ROOT / "synth" / "cli"]
    assert wrong == []


def test_tests_are_no_package() -> None:
    """tests/ is collected by file, fixtures/ is data."""
    assert not list((ROOT / "tests").rglob("__init__.py"))
    assert not (ROOT / "fixtures" / "__init__.py").exists()


def test_the_imported_packages_are_ours() -> None:
    """PyPI has other packages of these names: what is imported here lies beside this test."""
    import sandbox
    import synth
    import verifiers

    for package in (synth, verifiers, sandbox):
        assert Path(str(package.__file__)).parents[1] == ROOT


def test_type_information_is_shipped() -> None:
    """Every package says that it is typed."""
    assert all((ROOT / layer / "py.typed").is_file() for layer in LAYERS)


def test_nothing_is_unfinished() -> None:
    """No placeholder is left, and no suppression without a reason."""
    marks = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
    bare = re.compile(r"# (?:type: ignore(?:\[[\w, -]+\])?|noqa(?:: [A-Z0-9, ]+)?)\s*$")
    found = [
        f"{p.relative_to(ROOT)}:{n}"
        for p in [*modules(), ROOT / "noxfile.py"]
        for n, line in enumerate(p.read_text(encoding="utf-8").splitlines(), 1)
        if bare.search(line) or (marks.search(line) and "tests" not in p.parts and '"' not in line)
    ]
    assert found == []


def test_broad_excepts_are_where_they_belong() -> None:
    """Only the check runner and the command line catch everything."""
    found = set()
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            broad = isinstance(node, ast.ExceptHandler) and (
                node.type is None or (isinstance(node.type, ast.Name) and node.type.id == "Exception")
            )
            if broad:
                found.add(path.relative_to(ROOT).as_posix())
    guests = {name for name in found if name.startswith("sandbox/guest/")}
    assert found - guests <= {
        "verifiers/verify.py", "synth/cli/program.py", "synth/cli/crystallize.py", "synth/cli/batch.py",
    }  # fmt: skip


def test_what_catches_everything_passes_it_on() -> None:
    """``except BaseException`` tidies up and raises again: an interrupt is never swallowed. Jobs in the sandbox report it."""
    for path in (p for p in modules() if "guest" not in p.parts):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler) and node.type is not None and ast.unparse(node.type) == "BaseException":
                last = node.body[-1]
                assert isinstance(last, ast.Raise), f"{path}:{node.lineno}"
                assert last.exc is None, f"{path}:{node.lineno}"


def test_a_shadowed_package_is_told() -> None:
    """Another distribution's ``verifiers`` on the path gives one sentence and exit 2, not an ImportError."""
    program = (
        "import sys, types, importlib.util as u\n"
        "import synth.cli.program as m\n"
        "real = u.find_spec\n"
        "def fake(name, package=None):\n"
        "    spec = real(name, package)\n"
        "    if name == 'verifiers':\n"
        "        spec.submodule_search_locations = ['/elsewhere/verifiers']\n"
        "    return spec\n"
        "u.find_spec = fake\n"
        "sys.exit(m.run(['engine', 'status']))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: the package `verifiers` is the one at /elsewhere/verifiers, not skill-assay's.")


def test_no_text_names_a_package_that_anybody_may_claim() -> None:
    """The name of this distribution is on no index as ours: nothing tells people to install it by name."""
    endings = (".md", ".yml", ".yaml", ".j2", ".toml", ".py")
    ours = [p for p in ROOT.rglob("*") if p.suffix in endings and not {".venv", ".nox"} & set(p.parts) and p != Path(__file__)]
    assert ROOT / "docs" / "integrations" / "gitlab.md" in ours
    told = re.compile(
        r"\b(pip|pipx|uv|poetry|pdm)\b.*\b(install|add|run)\b.*[ '\"]skill-assay|default: *'?skill-assay|pypi\.org/project/skill"
    )
    assert not [(p, said[0]) for p in ours if (said := told.search(p.read_text(encoding="utf-8")))]


def test_the_lock_fits_the_project() -> None:
    """Every dependency, those of the extras too, is locked to a version, and the lock names no host."""
    lock = (ROOT / ".ci" / "constraints.txt").read_text(encoding="utf-8")
    locked = {line.split("==")[0].lower().replace("_", "-") for line in lock.splitlines() if "==" in line}
    text = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = text["project"]["optional-dependencies"].values()
    listed = [*text["project"]["dependencies"], *(d for extra in extras for d in extra)]
    wanted = {re.split(r"[^A-Za-z0-9_.-]", d)[0].lower().replace("_", "-") for d in listed}
    assert wanted <= locked
    assert "://" not in lock
    assert metadata.version("skill-assay") == text["project"]["version"]
