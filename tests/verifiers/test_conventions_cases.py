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
