"""What a replay looked for and the image has not: which program or module, and the command that adds it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sandbox.interface import ExecResult

PACKAGES = {
    "7z": "p7zip-full", "ag": "silversearcher-ag", "autoconf": "autoconf", "black": "black", "c++": "g++", "cargo": "cargo",
    "cc": "gcc", "clang": "clang", "clang-format": "clang-format", "cmake": "cmake", "convert": "imagemagick", "curl": "curl",
    "dot": "graphviz", "ed": "ed", "emacs": "emacs-nox", "ffmpeg": "ffmpeg", "flake8": "flake8", "fzf": "fzf", "g++": "g++",
    "gcc": "gcc", "gfortran": "gfortran", "go": "golang-go", "gofmt": "golang-go", "hg": "mercurial", "isort": "isort",
    "java": "default-jre-headless", "javac": "default-jdk-headless", "lua": "lua5.4", "meson": "meson", "mypy": "mypy",
    "ninja": "ninja-build", "node": "nodejs", "npm": "npm", "npx": "npm", "pandoc": "pandoc", "php": "php-cli",
    "pip": "python3-pip", "pip3": "python3-pip", "psql": "postgresql-client", "pylint": "pylint", "python": "python-is-python3",
    "rg": "ripgrep", "rsync": "rsync", "ruby": "ruby", "rustc": "rustc", "shellcheck": "shellcheck", "strace": "strace",
    "svn": "subversion", "tidy": "tidy", "tox": "tox", "tree": "tree", "vim": "vim", "wget": "wget", "xmllint": "libxml2-utils",
    "xmlstarlet": "xmlstarlet", "yamllint": "yamllint", "zsh": "zsh", "zstd": "zstd",
}  # fmt: skip
"""Program -> the Debian package that has it under this name. Source: Debian 12, ``dpkg -S`` of the installed package."""

_PROGRAM = re.compile(rb"(?m)^(?:[^\n:]{1,80}: )(?:line )?\d+: (?P<a>[\w.+-]+): (?:command )?not found$")
_ENV = re.compile("(?m)^/usr/bin/env: (?:‘|')(?P<a>[\\w.+-]+)(?:’|'): No such file or directory$".encode())
_PYTHON = re.compile(rb"(?m)^ModuleNotFoundError: No module named '(?P<a>[\w.]+)'")
_NODE = re.compile(rb"(?m)Cannot find (?:module|package) '(?P<a>[^./'][^']*)'")


def lacking(steps: Sequence[ExecResult], recorded: Sequence[str] = ()) -> str:
    """One sentence about the first thing that a command looked for in vain; "" where none did.

    Args:
        recorded: What the commands printed when they were recorded: what was missing then, too, is not it.
    """
    for number, step in enumerate(steps, 1):
        said = step.stderr + step.stdout
        for pattern, what in ((_PROGRAM, "program"), (_ENV, "program"), (_PYTHON, "Python module"), (_NODE, "Node module")):
            found = pattern.search(said)
            if found is None or any(found[0].decode("utf-8", "replace") in text for text in recorded):
                continue
            name = found["a"].decode("utf-8", "replace")
            return f"command {number} needs the {what} {name}, which the image lacks. {_how(name, what)}"
    return ""


def _how(name: str, what: str) -> str:
    options = {"Python module": "--requirements requirements.txt", "Node module": "--package-json package.json"}
    known = name in PACKAGES or what != "program"
    option = options.get(what) or f"--package {PACKAGES.get(name, name)}"
    return f'Add it: --image "$(assay engine image {option})"{"" if known else ", or whatever package has it"}'
