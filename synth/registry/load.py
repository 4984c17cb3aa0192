"""A registered skill as a callable of the running process: the active version only, and only the bytes that were verified."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, cast

from synth.draft import SKILL
from synth.interface import RegistryEntry
from synth.registry import Registry, RegistryUnusable, WrongState
from synth.registry.admission import source_sha256
from verifiers.subject import ParseProblem, parse_module, skill_function

_PACKAGE = "assay_skills"
_API = "skill_api"
_OURS = "sandbox.guest.skill_api"


def load(registry: Registry | Path | str, name: str) -> Callable[..., Any]:
    """The function of a registered skill, as its file defines it (a coroutine function, if it is ``async``).

    It runs with the rights of this process in its current directory: what was verified is that it stays inside its workspace
    when it is called as its evidence shows, not that it can be trusted with any argument.

    Args:
        registry: An open registry or its directory.
        name: The skill.

    Raises:
        UnknownSkill: no skill of that name is registered.
        WrongState: none of its versions is active.
        RegistryUnusable: its files are not those that were verified.
    """
    if not isinstance(registry, Registry):
        with Registry.existing(registry) as opened:
            return load(opened, name)
    entry = registry.show(name)
    if entry.status != "active":
        raise WrongState(
            f"it is {entry.status}: only an active skill can be loaded", f"See 'assay registry history {name}'", name
        )
    registry.check_intact(entry)
    return _function(entry)


def _function(entry: RegistryEntry) -> Callable[..., Any]:
    path = Path(entry.path) / SKILL
    source = path.read_bytes().decode("utf-8")
    if source_sha256(source) != entry.metadata["code_sha256"]:
        # Between the check of the directory and this reading: what runs is what was hashed, never what lies there a moment later.
        raise RegistryUnusable("the code is not what was verified", "Register the skill again from its draft", path)
    tree = parse_module(source)
    function = None if isinstance(tree, ParseProblem) else skill_function(tree)
    if function is None:
        raise WrongState("the file has no @skill_command function", "Verify and register it again", path)
    module = _module(entry, compile(source, str(path), "exec", dont_inherit=True))
    return cast("Callable[..., Any]", getattr(module, function.name))


def _module(entry: RegistryEntry, code: CodeType) -> ModuleType:
    provide_skill_api()
    full_name = f"{_PACKAGE}.{entry.name}_{entry.version[:12]}"
    spec = ModuleSpec(full_name, _Loader(code), origin=f"{entry.path}/{SKILL}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[full_name] = module
    try:
        _Loader(code).exec_module(module)
    except BaseException:
        del sys.modules[full_name]
        raise
    return module


class _Loader(Loader):
    """Runs code that was compiled from checked bytes."""

    def __init__(self, code: CodeType) -> None:
        self._code = code

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code, module.__dict__)


def provide_skill_api() -> ModuleType:
    """Makes sure that ``import skill_api`` means ours in this process, and returns it.

    Raises:
        WrongState: another module of that name is already loaded.
    """
    ours = importlib.import_module(_OURS)
    loaded = sys.modules.get(_API)
    if loaded is None:
        sys.modules[_API] = ours
        return ours
    if not hasattr(loaded, "skill_command") or not hasattr(loaded, "nu"):
        raise WrongState(
            "another module named skill_api is loaded in this process",
            "Rename it, or load skills in a process of their own",
            _API,
        )
    return loaded
