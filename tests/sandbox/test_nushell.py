"""Nushell for the image: fetched with npm where there is one, a sentence where there is none."""

from __future__ import annotations

import io
import os
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from fake import stand_in

from sandbox import nushell, recipe

QUIET = lambda _: None  # noqa: E731 - the shortest listener


def tarball_of(path: Path, name: str, content: bytes) -> bytes:
    """An npm package with one file."""
    with tarfile.open(path, "w:gz") as tar:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    return path.read_bytes()


@pytest.mark.parametrize(
    ("npm", "integrity", "why"),
    [
        ("exit 1", "", "npm pack exited with 1: no message"),
        ("echo offline >&2; exit 7", "", "npm pack exited with 7: offline"),
        ("cp {tar} ./x.tgz", "sha512-other", "the recipe says sha512-other"),
        ("cp {other} ./x.tgz", "", "no program called nu"),
        ("echo garbage > ./x.tgz", "", ""),
    ],
)
def test_nushell_that_cannot_be_had_is_a_sentence_not_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, npm: str, integrity: str, why: str
) -> None:
    """The image is built without it."""
    tarball_of(tmp_path / "good.tgz", "package/bin/nu", b"#!nu")
    tarball_of(tmp_path / "other.tgz", "package/readme", b"")
    program = stand_in(tmp_path / "npm", npm.format(tar=tmp_path / "good.tgz", other=tmp_path / "other.tgz"))
    monkeypatch.setattr(nushell, "which", lambda name: program)
    said: list[str] = []
    assert nushell.fetch_nu(recipe.NuSource("@x/y", "1", integrity), said.append, tmp_path / "cache") is None
    assert "cannot be fetched, so the image is built without it" in said[-1]
    assert why in said[-1]


def test_nushell_is_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time it comes out of the cache, also without npm."""
    tarball_of(tmp_path / "good.tgz", "package/bin/nu", b"#!nu")
    program = stand_in(tmp_path / "npm", f"cp {tmp_path / 'good.tgz'} ./x.tgz")
    source = recipe.NuSource("@x/y", "1", "")
    monkeypatch.setattr(nushell, "which", lambda name: program)
    first = nushell.fetch_nu(source, QUIET, tmp_path / "cache")
    assert first is not None
    assert first.read_bytes() == b"#!nu"
    assert os.access(first, os.X_OK)
    monkeypatch.setattr(nushell, "which", lambda name: None)
    assert nushell.fetch_nu(source, QUIET, tmp_path / "cache") == first
    assert nushell.fetch_nu(replace(source, version="2"), QUIET, tmp_path / "cache") is None
