"""A ``devcontainer.json`` as a Dockerfile: what a project's container is built from, and what is run once it is there."""

from __future__ import annotations

import json
import os
import posixpath
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import json5

from sandbox.project import Tools, below, read_dockerfile

_CREATES = ("onCreateCommand", "updateContentCommand", "postCreateCommand")
"""Commands that are run once, in this order, where the project is."""
_LEFT_OUT = (
    "features", "mounts", "runArgs", "containerEnv", "remoteEnv", "postStartCommand", "postAttachCommand", "initializeCommand",
)  # fmt: skip
"""What an image cannot hold: features come from a registry of their own, the others belong to a container or its start."""
_BUILDS = frozenset({"dockerfile", "context"})
_FOLDER = "${containerWorkspaceFolder}"
_PROJECT = "assay-project"
"""Where the project is, beside what the Dockerfile copies and in the image while it is built."""


def read_devcontainer(file: Path) -> Tools:
    """The image that a ``devcontainer.json`` (JSON with comments) asks for; what of it is left out is named.

    Raises:
        ValueError: it is none, or asks for what no image is made from.
        OSError: the Dockerfile that it names cannot be read.
    """
    found = json5.loads(file.read_text("utf-8-sig"))
    if not isinstance(found, dict):
        raise ValueError("is no JSON object")
    made = _base(found, file.parent)
    commands = [text for key in _CREATES for text in _commands(key, found.get(key))]
    files, text = dict(made.files), made.files["Dockerfile"].decode("utf-8", "replace")
    programs = set(made.programs)
    if commands:
        root = file.parent.parent if file.parent.name == ".devcontainer" else file.parent
        ours, executable = below(root)
        files |= {f"{_PROJECT}/{path}": data for path, data in ours.items()}
        programs |= {f"{_PROJECT}/{path}" for path in executable}
        ran = "".join(f"RUN {c}\n" for c in commands)
        text += f"\nUSER root\nCOPY {_PROJECT} /{_PROJECT}\nWORKDIR /{_PROJECT}\n{ran}WORKDIR /\nRUN rm -rf /{_PROJECT}\n"
    files["Dockerfile"] = text.encode()
    return Tools("dockerfile", files, programs=frozenset(programs), left_out=tuple(k for k in _LEFT_OUT if found.get(k)))


def _base(found: Mapping[str, Any], here: Path) -> Tools:
    """The image that it begins with, or the Dockerfile that builds it."""
    build = found.get("build", {})
    if "dockerComposeFile" in found:
        raise ValueError("it is of several containers (dockerComposeFile): name the Dockerfile of the one that tasks run in")
    if not isinstance(build, dict) or (more := sorted(set(build) - _BUILDS)):
        raise ValueError(
            f"build.{more[0]} is not carried over: name a Dockerfile" if isinstance(build, dict) else "build is no object"
        )
    name, image = build.get("dockerfile", found.get("dockerFile")), found.get("image")
    context = build.get("context", found.get("context", "."))
    for said in (name, image, context):
        if said is not None and (not isinstance(said, str) or "${" in said or "\n" in said):
            raise ValueError(f"{said!r} is no plain text, which is all that is carried over")
    if name is not None:
        return read_dockerfile(here / name, Path(os.path.normpath(here / context)))
    if image is None:
        raise ValueError("has neither image nor build.dockerfile")
    return Tools("dockerfile", {"Dockerfile": f"FROM {image}\n".encode()})


def _commands(key: str, said: object) -> Iterator[str]:
    """Lines for ``RUN``: a text is one for a shell, a list is a program with its arguments, an object has several of these."""
    if isinstance(said, dict):
        for inner in said.values():
            yield from _commands(key, inner)
    elif isinstance(said, str) or (isinstance(said, list) and all(isinstance(word, str) for word in said)):
        text = said if isinstance(said, str) else shlex.join(said)
        yield json.dumps(["sh", "-c", text.replace(_FOLDER, posixpath.join("/", _PROJECT))])
    elif said is not None:
        raise ValueError(f"{key} is no command")
