"""Makes the bundle's modules importable inside the container. Runs first; knows nothing of the others. Guest side."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import sys
import types
from collections.abc import Mapping, Sequence


class Bundle(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports modules from a table of name -> source. A name that ends in ``.`` is a package."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname + "." in self._sources:
            return importlib.util.spec_from_loader(fullname, self, is_package=True)
        if fullname in self._sources:
            return importlib.util.spec_from_loader(fullname, self, origin=f"<{fullname}>")
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        source = self._sources.get(module.__name__, "")
        name = f"<{module.__name__}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec", dont_inherit=True), module.__dict__)


def install(sources: Mapping[str, str]) -> None:
    sys.path[:] = [p for p in sys.path if p]  # never the working directory
    sys.meta_path.insert(0, Bundle(sources))
