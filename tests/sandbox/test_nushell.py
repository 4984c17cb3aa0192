"""Nushell for the image: fetched with npm where there is one, a sentence where there is none."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from fake import stand_in

from sandbox import nushell, recipe


def digest_of(content: bytes) -> str:
    return "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()


QUIET = lambda _: None  # noqa: E731 - the shortest listener


def tarball_of(path: Path, name: str, content: bytes) -> bytes:
    """An npm package with one file."""
    with tarfile.open(path, "w:gz") as tar:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    return path.read_bytes()


@pytest.mark.parametrize(
    ("npm", "file", "why"),
    [
        ("exit 1", "good.tgz", "npm pack exited with 1: no message"),
        ("echo offline >&2; exit 7", "good.tgz", "npm pack exited with 7: offline"),
        ("cp {tar} ./x.tgz", "other.tgz", "the recipe says sha512-"),
        ("cp {tar} ./x.tgz", "", "the recipe says nothing"),
        ("cp {other} ./x.tgz", "other.tgz", "no program called nu"),
        ("echo garbage > ./x.tgz", "good.tgz", "the package's digest is"),
    ],
)
def test_nushell_that_cannot_be_had_is_a_sentence_not_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, npm: str, file: str, why: str
) -> None:
    """The image is built without it; what has no digest is never taken."""
    packages = {
        "good.tgz": tarball_of(tmp_path / "good.tgz", "package/bin/nu", b"#!nu"),
        "other.tgz": tarball_of(tmp_path / "other.tgz", "package/readme", b""),
    }
    integrity = digest_of(packages[file]) if file else ""
    program = stand_in(tmp_path / "npm", npm.format(tar=tmp_path / "good.tgz", other=tmp_path / "other.tgz"))
    monkeypatch.setattr(nushell, "which", lambda name: program)
    said: list[str] = []
    with nushell.fetched_nu(recipe.NuSource("@x/y", "1", integrity), said.append, tmp_path / "cache") as found:
        assert found is None
    assert "cannot be fetched, so the image is built without it" in said[-1]
    assert why in said[-1]


def test_nushell_is_fetched_once_and_looked_at_every_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time it comes out of the cache, also without npm; a package that was changed there is not used."""
    content = tarball_of(tmp_path / "good.tgz", "package/bin/nu", b"#!nu")
    program = stand_in(tmp_path / "npm", f"cp {tmp_path / 'good.tgz'} ./x.tgz")
    source = recipe.NuSource("@x/y", "1", digest_of(content))
    monkeypatch.setattr(nushell, "which", lambda name: program)
    for which in (lambda name: program, lambda name: None):
        monkeypatch.setattr(nushell, "which", which)
        with nushell.fetched_nu(source, QUIET, tmp_path / "cache") as found:
            assert found is not None
            assert found.read_bytes() == b"#!nu"
            assert os.access(found, os.X_OK)
        assert not found.exists()
    nushell.cached(source, tmp_path / "cache").write_bytes(tarball_of(tmp_path / "evil.tgz", "package/bin/nu", b"#!evil"))
    for other in (source, replace(source, version="2")):
        with nushell.fetched_nu(other, QUIET, tmp_path / "cache") as found:
            assert found is None
