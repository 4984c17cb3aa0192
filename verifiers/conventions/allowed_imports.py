"""What a skill may import."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.model import SkillModule, dotted_text, imported_module
from verifiers.conventions.rule import Rule, Violation, skill
from verifiers.interface import Example, Profile

NETWORK = frozenset({
    "socket", "socketserver", "ssl", "http", "urllib", "ftplib", "smtplib", "smtpd", "poplib", "imaplib", "nntplib", "telnetlib",
    "xmlrpc", "webbrowser", "wsgiref", "cgi", "cgitb", "asyncore", "asynchat",
})  # fmt: skip
NATIVE = frozenset({"ctypes", "mmap", "multiprocessing", "_posixsubprocess", "_thread", "_ctypes", "_socket", "cffi"})
SERIAL = frozenset({"pickle", "marshal", "shelve", "dbm", "copyreg"})
LOADERS = frozenset({
    "importlib", "imp", "runpy", "zipimport", "pkgutil", "site", "sitecustomize", "code", "codeop", "builtins", "__main__",
    "ensurepip", "venv", "pip", "setuptools", "distutils",
})  # fmt: skip
INTROSPECTION = frozenset(
    {"gc", "inspect", "dis", "faulthandler", "trace", "tracemalloc", "bdb", "pdb", "cProfile", "profile", "sys.monitoring"}
)
TERMINAL = frozenset(
    {"tkinter", "turtle", "curses", "readline", "getpass", "pty", "tty", "termios", "idlelib", "antigravity", "this", "cmd"}
)

DENIED: dict[str, str] = {
    **dict.fromkeys(NETWORK, "reaches the network"),
    **dict.fromkeys(NATIVE, "works around the interpreter"),
    **dict.fromkeys(SERIAL, "can run code while it reads data"),
    **dict.fromkeys(LOADERS, "loads or runs other code"),
    **dict.fromkeys(INTROSPECTION, "looks at the interpreter instead of the workspace"),
    **dict.fromkeys(TERMINAL, "needs a terminal"),
}
HARMLESS_PARTS = frozenset({"urllib.parse", "http.HTTPStatus", "inspect.cleandoc"})
"""Parts of denied modules that only compute."""

PROJECT = {"seed": ("skill_api",), "omni": ("skill_api", "omni")}
_BODY = 'Path(file).touch()\nreturn {"ok": True, "changed": 1}'


def allowed_modules() -> tuple[str, ...]:
    """Top-level modules that a seed skill may import, sorted: the manual's list."""
    standard = {m for m in sys.stdlib_module_names if not m.startswith("_")} | {"__future__"}
    return tuple(sorted((standard - DENIED.keys()) | {"skill_api"}))


def refusal(name: str, profile: Profile = "seed", extra: frozenset[str] = frozenset()) -> str:
    """Why a dotted name may not be imported; "" where it may. ``extra`` adds allowed modules."""
    top = name.partition(".")[0]
    if name in HARMLESS_PARTS or any(name.startswith(part + ".") for part in HARMLESS_PARTS) or top in extra or name in extra:
        return ""
    if top in PROJECT[profile]:
        return ""
    if why := DENIED.get(top):
        return why
    if name.startswith("."):
        return "is relative, but a skill is a file of its own"
    if top in sys.stdlib_module_names:
        return "is a private part of the standard library" if top.startswith("_") and top != "__future__" else ""
    return "is not in the standard library"


class AllowedImports(Rule):
    id = "conventions-imports"
    title = "Are all imports on the allow-list?"
    why = (
        "Allowed is the standard library without what reaches the network, works around the interpreter (ctypes, mmap, "
        "multiprocessing), runs code while reading data (pickle, marshal, shelve), loads other code (importlib, runpy) or looks "
        "at frames; plus `skill_api`. A skill that needs another package cannot run where it is registered. `extra_imports` in "
        "the configuration adds modules. In the `omni` profile, whose real skills use the host's packages, this only warns."
    )
    soft_in: ClassVar[tuple[Profile, ...]] = ("omni",)
    extra: ClassVar[frozenset[str]] = frozenset()
    """Modules allowed by configuration."""
    good = (
        skill("standard library", _BODY),
        skill("parsing a URL is no network", _BODY, imports="from pathlib import Path\nfrom urllib.parse import quote\n\n"),
    )
    bad = (
        skill("network", _BODY, imports="import socket\nfrom pathlib import Path\n\n"),
        skill("network, inside the function", "import urllib.request\n" + _BODY),
        skill("native code", _BODY, imports="from ctypes import CDLL\nfrom pathlib import Path\n\n"),
        skill("another package", _BODY, imports="from pathlib import Path\n\nimport requests\n\n"),
        skill("import by a call", '__import__("socket")\n' + _BODY),
        Example("a relative import", "from . import other\n"),
    )

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        for node, name in self._names(module):
            if why := refusal(name, module.profile, self.extra):
                yield Violation(node, f"import of {name}: {why}")

    @staticmethod
    def _names(module: SkillModule) -> Iterator[tuple[cst.CSTNode, str]]:
        for node in module.nodes:
            if isinstance(node, cst.Import):
                yield from ((node, dotted_text(item.name)) for item in node.names)
            elif isinstance(node, cst.ImportFrom):
                source = imported_module(node)
                if isinstance(node.names, cst.ImportStar):
                    yield node, f"{source}.*"
                else:
                    parts = [f"{source}.{dotted_text(item.name)}" for item in node.names]
                    yield from (
                        (node, part if part in HARMLESS_PARTS or source in HARMLESS_PARTS else source) for part in parts[:1]
                    )
            elif isinstance(node, cst.Call) and module.dotted(node.func) in ("__import__", "builtins.__import__"):
                yield node, "whatever __import__ is given" if not node.args else f"importlib.{module.code(node.args[0].value)}"
