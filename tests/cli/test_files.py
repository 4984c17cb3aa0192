"""Files that commands write: whole or not at all, and lines that never run into each other."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.cli.files import append_lines, check_appendable, write_atomically
from verifiers.interface import ConfigError

LINES = st.lists(st.text(st.characters(exclude_characters="\n", codec="utf-8"), max_size=10), min_size=1)


@given(st.binary(max_size=30), LINES)
def test_appended_lines_are_whole(tmp_path_factory: pytest.TempPathFactory, before: bytes, lines: list[str]) -> None:
    """Whatever was there stays as it is, and each new line is a line of its own, also after one that was cut off."""
    path = tmp_path_factory.getbasetemp() / "lines"
    path.write_bytes(before)
    append_lines(path, lines)
    after = path.read_bytes()
    assert after.startswith(before)
    assert after.decode("utf-8", "replace").endswith("".join(f"{line}\n" for line in lines))
    assert len(after) - len(before) - len("".join(f"{line}\n" for line in lines).encode()) in (0, 1)


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    """A full device, a directory, a file where a directory is needed: one error of ours, and the file is as it was."""
    (tmp_path / "file").write_text("x")
    for path in (Path("/dev/full"), tmp_path, tmp_path / "file" / "below"):
        with pytest.raises(ConfigError, match="cannot be written"):
            append_lines(path, ["line"])
        with pytest.raises(ConfigError, match="cannot be written"):
            write_atomically(path, "text")
    for path in (tmp_path, tmp_path / "file" / "below"):
        with pytest.raises(ConfigError, match="cannot be written"):
            check_appendable(path)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """What is linked is written, where it lies."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real/file")
    write_atomically(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "file").read_text() == "text\n"


def test_pipes_are_written_to(tmp_path: Path) -> None:
    """Process substitution and ``/dev/stdout``: what is no regular file is written to, never replaced."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    for write in (lambda: write_atomically(pipe, "text"), lambda: append_lines(pipe, ["line"])):
        reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
        reader.start()
        write()
        reader.join(10)
    assert read == ["text\n", "line\n"]
    assert pipe.is_fifo()
