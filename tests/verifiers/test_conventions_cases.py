"""Cases beyond the rules' own examples: skills of another style that must pass, and disguises that must not."""

from __future__ import annotations

import pytest

from verifiers.conventions import findings
from verifiers.conventions.allow_list import ALLOWED, REFUSED
from verifiers.conventions.allowed_imports import refusal
from verifiers.conventions.rule import skill
from verifiers.subject import parse_subject

RETURN = '\nreturn {"ok": True, "changed": 1}'


def rules(body: str, imports: str = "import subprocess\nfrom pathlib import Path\n\n", head: str = "") -> set[str]:
    """Ids of the rules that find an error in a skill with this body."""
    source = skill("case", body, imports=imports, head=head).source
    return {f.rule for f in findings(parse_subject(source, "s.py")) if f.severity == "error"}


FINE = {
    "waited for": 'subprocess.run(["bash", "-c", \'sort "$1" > a & sort -r "$1" > b & wait\', "_", file], check=True)' + RETURN,
    "ampersands in quotes": 'subprocess.run(["bash", "-c", "sed -i \'s/a/& b/\' -- \\"$1\\"", "_", file], check=True)' + RETURN,
    "redirections": 'subprocess.run(["sh", "-c", \'test -e "$1" && cat "$1" 2>&1 >&2 &>/dev/null\', "_", file], check=True)'
    + RETURN,
    "atomic replace": (
        'target = Path(file)\ntemporary = target.with_name(target.name + ".part")\ntry:\n    temporary.write_text("a")\n'
        "    os.replace(temporary, target)\nfinally:\n    temporary.unlink(missing_ok=True)" + RETURN
    ),
    "temporary directory": 'with tempfile.TemporaryDirectory(dir=".") as name:\n    Path(name, "a").touch()\n'
    '    os.replace(Path(name, "a"), file)' + RETURN,
    "constant program in a local": 'script = \'mv -- "$1" "$2"\'\n'
    'subprocess.run(["bash", "-c", script, "_", file, file + ".bak"], check=True)' + RETURN,
    "constant program with shell=True": 'subprocess.run("sort -u names.txt > sorted.txt", shell=True, check=True)\n'
    "Path(file).touch()" + RETURN,
    "environment hands the value over": 'subprocess.run(["sh", "-c", \'touch -- "$FILE"\'], check=True, env={**os.environ, '
    '"FILE": file})' + RETURN,
    "find with argument list": 'subprocess.run(["find", ".", "-name", "*." + file, "-delete"], check=True)' + RETURN,
    "output looked at": 'done = subprocess.run(["wc", "-l", file], check=True, capture_output=True, text=True)\n'
    'return {"ok": True, "output": done.stdout}',
    "status raised": 'done = subprocess.run(["grep", "-q", "a", file])\nif done.returncode > 1:\n    raise OSError(file)'
    + RETURN,
    "check_returncode": 'done = subprocess.run(["touch", file])\ndone.check_returncode()' + RETURN,
    "expected errors by name": 'try:\n    os.mkdir(file)\nexcept FileExistsError:\n    return {"ok": True, "changed": 0}'
    + RETURN,
    "wrapped error": "try:\n    Path(file).touch()\nexcept OSError as error:\n    raise RuntimeError(file) from error" + RETURN,
    "collected errors": (
        "errors: list[str] = []\nfor path in sorted(Path(file).iterdir()):\n    try:\n        path.touch()\n"
        "    except OSError as error:\n"
        '        errors.append(str(error))\n        continue\nif errors:\n    raise OSError("; ".join(errors))' + RETURN
    ),
    "nested helper": "def one(path: Path) -> int:\n    path.touch()\n    return 1\n\n\none(Path(file))" + RETURN,
    "text that looks like a program": 'Path(file).write_text("#!/bin/sh\\nexec true " + file)' + RETURN,
    "f-string message": 'if not Path(file).exists():\n    raise FileNotFoundError(f"no such file: {file}")' + RETURN,
    "a set inside": 'seen = {p.name for p in Path(file).iterdir()}\nreturn {"ok": True, "names": sorted(seen), "n": len(seen)}',
    "names of paths": 'paths = sorted(Path(file).rglob("*"))\n'
    'return {"ok": True, "names": [p.name for p in paths], "n": len(paths)}',
    "a lambda": 'names = sorted(Path(file).iterdir(), key=lambda p: p.name)\nreturn {"ok": True, "n": len(names)}',
}


@pytest.mark.parametrize("title", FINE)
def test_other_styles_pass(title: str) -> None:
    """Ways of writing a good skill that are not those of the examples."""
    imports = "import os\nimport subprocess\nimport tempfile\nfrom pathlib import Path\n\n"
    assert rules(FINE[title], imports) == set()


DISGUISED = {
    "aliased module": ("import subprocess as sp\n\n", 'sp.run(f"touch {file}", shell=True, check=True)', "shell-text"),
    "imported function": ("from os import system\n\n", 'assert system("touch " + file) == 0', "shell-text"),
    "asyncio shell": ("import asyncio\n\n", 'await asyncio.create_subprocess_shell(f"touch {file}")', "shell-text"),
    "asyncio exec": ("import asyncio\n\n", 'await asyncio.create_subprocess_exec("bash", "-c", f"touch {file}")', "shell-text"),
    "execlp": ("import os\n\n", 'os.execlp("sh", "sh", "-c", "touch " + file)', "shell-text"),
    "concatenated lists": (
        "import subprocess\n\n",
        'subprocess.run(["bash", "-c"] + ["touch " + file], check=True)',
        "shell-text",
    ),
    "env before bash": (
        "import subprocess\n\n",
        'subprocess.run(["env", "bash", "-ec", f"touch {file}"], check=True)',
        "shell-text",
    ),
    "path to bash": ("import subprocess\n\n", 'subprocess.run(["/bin/bash", "-c", f"touch {file}"], check=True)', "shell-text"),
    "xargs sh": ("import subprocess\n\n", 'subprocess.run(["xargs", "sh", "-c", f"touch {file}"], check=True)', "shell-text"),
    "augmented text": (
        "import subprocess\n\n",
        'script = "touch "\nscript += file\nsubprocess.run(["sh", "-c", script], check=True)',
        "shell-text",
    ),
    "a list joined": (
        "import subprocess\n\n",
        'parts = ["touch", file]\nsubprocess.run(["sh", "-c", " ".join(parts)], check=True)',
        "shell-text",
    ),
    "shell by a variable": ("import subprocess\n\n", "subprocess.run(file, shell=bool(file), check=True)", "shell-text"),
    "popen": ("import os\n\n", "os.popen(f'touch {file}').read()", "shell-text"),
    "a tuple of errors": (
        "from pathlib import Path\n\n",
        "try:\n    Path(file).touch()\nexcept (KeyError, Exception):\n    pass",
        "swallowed-errors",
    ),
    "logged only": (
        "import logging\nfrom pathlib import Path\n\n",
        'try:\n    Path(file).touch()\nexcept Exception:\n    logging.exception("no")',
        "swallowed-errors",
    ),
    "suppressed by alias": (
        "import contextlib as c\nfrom pathlib import Path\n\n",
        "with c.suppress(OSError):\n    Path(file).touch()",
        "swallowed-errors",
    ),
    "break in finally": (
        "from pathlib import Path\n\n",
        "for _ in range(2):\n    try:\n        Path(file).touch()\n    finally:\n        break",
        "swallowed-errors",
    ),
    "import of parts": ("import concurrent.futures\nimport urllib.request as u\n\n", "u.urlopen(file)", "imports"),
    "import in a branch": ("from pathlib import Path\n\n", "if file:\n    import socket\n    socket.socket()", "imports"),
    "globals": ("from pathlib import Path\n\n", 'globals()["Path"](file).touch()', "escapes"),
    "frame walk": ("import sys\n\n", "sys._getframe(1).f_back", "escapes"),
    "attrgetter": ("import operator\n\n", 'operator.attrgetter("__class__.__base__")(file)', "escapes"),
    "aliased exit": ("from sys import exit as leave\n\n", "leave(0)", "escapes"),
    "a partial getter": ("from functools import partial\n\n", "partial(getattr, file)('real')", "escapes"),
    "a getter under another name": ("", "look = getattr\nlook(file, file)", "escapes"),
    "a default that is a builtin": ("", "def inner(eval: object = eval) -> object:\n    return eval\n\ninner()", "escapes"),
    "a builtin in a table": ("", 'table = {"run": exec}\ntable["run"](file)', "escapes"),
    "a name with two origins": ("", "if file:\n    import sys as a\nelse:\n    import json as a\na.modules", "escapes"),
    "modules by a constant name": ("import sys\n\n", 'getattr(sys, "modules")', "escapes"),
    "either of two modules": ("import json\nimport sys\n\n", "(sys if file else json).modules", "escapes"),
    "a module through a private name": ("import collections\n\n", "collections._sys.modules", "escapes"),
    "a refused module through another": ("import dataclasses\n\n", "dataclasses.inspect.stack()", "escapes"),
    "fields by text": ("import string\n\n", "string.Formatter().get_field(file, (), {})", "escapes"),
    "configured logging": ("import logging.config\n\n", "logging.config.fileConfig(file)", "escapes"),
    "a pool of processes": (
        "from concurrent.futures import ProcessPoolExecutor as Pool\n\n",
        "Pool().submit(print, file)",
        "escapes",
    ),
    "operator's getter as a value": ("from operator import attrgetter\n\n", "list(map(attrgetter, [file]))", "escapes"),
    "eval as the type of an argument": (
        "import argparse\n\n",
        'argparse.ArgumentParser().add_argument("x", type=eval)',
        "escapes",
    ),
    "another Python with text": (
        "import subprocess\nimport sys\n\n",
        'subprocess.run([sys.executable, "-c", file], check=True)',
        "shell-text",
    ),
    "a loader variable by setdefault": ("import os\n\n", 'os.environ.setdefault("LD_AUDIT", file)', "loaders"),
    "a filter of git": (
        "import subprocess\n\n",
        'subprocess.run(["git", "-c", f"x={file}", "-c", "filter.a.clean=sh x"])',
        "loaders",
    ),
    "patched method": ("import pathlib\n\n", "pathlib.Path.write_text = print", "patching"),
    "paths from a variable": (
        "from pathlib import Path\n\n",
        'target = Path(file)\nreturn {"ok": True, "path": target}',
        "json-return",
    ),
    "path from with_suffix": (
        "from pathlib import Path\n\n",
        'return {"ok": True, "path": Path(file).with_suffix(".md")}',
        "json-return",
    ),
}


@pytest.mark.parametrize("title", DISGUISED)
def test_disguises_are_seen_through(title: str) -> None:
    """Aliases, indirections and other spellings of what the rules forbid."""
    imports, body, rule = DISGUISED[title]
    assert f"conventions-{rule}" in rules(body + RETURN, imports)


HONEST = {
    "own names like builtins": ("", "vars = [file]\ninput = vars\nlocals = input\nprint(locals)"),
    "a plain sort key": ("import operator\n\n", "print(sorted([(1, file)], key=operator.itemgetter(0)))"),
    "a column as sort key": ("from operator import itemgetter\n\n", "print(sorted([{'a': file}], key=itemgetter(file)))"),
    "a partial of an own function": (
        "from functools import partial\n\n",
        "def own(a: str, b: str) -> str:\n    return a + b\n\nprint(partial(own, file)('x'))",
    ),
    "a constant template": ("", 'print("{0.name:>{width}} {n}".format(file, width=3, n=1))'),
    "a log format": ("import logging\n\n", 'logging.getLogger(__name__).info("%s", logging.Formatter("%(message)s"))'),
    "modules in a table": ("import bz2\nimport gzip\n\n", 'print({"gz": gzip, "bz2": bz2}[file])'),
    "the class of an error": ("", "print(type(file).__name__, file.__class__.__qualname__)"),
    "an attribute that may be missing": ("import os\n\n", 'print(getattr(os, "O_BINARY", 0), hasattr(os, "fchmod"), file)'),
    "the interpreter with a file": ("import subprocess\nimport sys\n\n", "subprocess.run([sys.executable, file], check=True)"),
    "a word about variables": ("", 'print("set LD_PRELOAD to load more", file)'),
    "names of dates": (
        "import datetime\nimport time\n\n",
        "print(datetime.time(1), time.time, datetime.datetime.fromisoformat(file))",
    ),
}


@pytest.mark.parametrize("title", HONEST)
def test_honest_code_is_left_alone(title: str) -> None:
    """What only looks like a way around the rules."""
    imports, body = HONEST[title]
    assert not {"conventions-escapes", "conventions-loaders", "conventions-shell-text"} & set(rules(body + RETURN, imports))


def test_lists_do_not_overlap() -> None:
    """A module is allowed or refused, not both, and what the design names is refused."""
    assert not ALLOWED & REFUSED.keys()
    assert {"socket", "ctypes", "multiprocessing", "pickle", "marshal", "importlib"} <= REFUSED.keys()


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("os.path", True), ("urllib.parse", True), ("urllib.request", False), ("skill_api", True), ("__future__", True),
        ("numpy", False), (".other", False), ("xml.etree.ElementTree", True), ("posix", False),
        ("lib2to3", False), ("_socket", False),
    ],
)  # fmt: skip
def test_refusals(name: str, allowed: bool) -> None:
    """Parts of modules follow their package, unless they only compute."""
    assert (refusal(name) == "") is allowed


def test_profile_decides_about_foreign_packages() -> None:
    """The host's own package is fine in the omni profile only; others warn there."""
    assert refusal("omni.foundation.config", "omni") == ""
    assert refusal("omni.foundation.config", "seed") != ""
