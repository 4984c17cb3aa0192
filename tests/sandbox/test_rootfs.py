"""The image from packages: this machine's package sources, and mmdebstrap."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from fake import stand_in
from hypothesis import given
from hypothesis import strategies as st

from sandbox import recipe, rootfs
from sandbox.interface import Cause, SandboxError

QUIET = lambda _: None  # noqa: E731 - the shortest listener


STANZA = "Types: deb\nURIs: http://example.org/debian\nSuites: {suites}\nComponents: {components}\nEnabled: {enabled}\n"


@pytest.mark.parametrize(
    ("stanza", "ours"),
    [
        (STANZA.format(suites="bookworm bookworm-updates", components="main", enabled="yes"), True),
        (STANZA.format(suites="bookworm-security", components="main contrib", enabled="yes"), True),
        (STANZA.format(suites="bookworm", components="main", enabled="no"), False),
        (STANZA.format(suites="bookworm", components="stable", enabled="yes"), False),
        (STANZA.format(suites="nodistro", components="main", enabled="yes"), False),
        (STANZA.format(suites="bookworm-pgdg", components="main", enabled="yes"), False),
        ("Types: deb-src\nSuites: bookworm\nComponents: main\n", False),
        ("# Types: deb\n", False),
        ("", False),
    ],
)
def test_only_the_distributions_own_archive_is_copied(stanza: str, ours: bool) -> None:
    """Other people's repositories have no place in the image."""
    assert rootfs.stanza_is_ours(stanza, "bookworm") is ours


def test_both_kinds_of_source_files_are_read(tmp_path: Path) -> None:
    """deb822 and one-line files side by side, comments and foreign entries left out."""
    apt = tmp_path / "apt"
    (apt / "sources.list.d").mkdir(parents=True)
    (apt / "sources.list").write_text(
        "# x\ndeb [signed-by=/k] http://a/debian bookworm main\ndeb http://b/ nodistro main\ndeb-src http://a bookworm main\n"
    )
    (apt / "sources.list.d/d.sources").write_text(
        STANZA.format(suites="bookworm", components="main", enabled="yes")
        + "\n"
        + STANZA.format(suites="other", components="main", enabled="yes")
    )
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    files = [Path(name).read_text() for name in rootfs.mirrors(scratch, apt, "bookworm")]
    assert files[0] == "deb [signed-by=/k] http://a/debian bookworm main\n"
    assert files[1].count("Suites:") == 1
    assert rootfs.mirrors(scratch, tmp_path / "none", "bookworm") == []


@given(st.text(max_size=200))
def test_no_text_breaks_the_reading_of_sources(text: str) -> None:
    """What stands in a foreign file is never an exception."""
    assert rootfs.stanza_is_ours(text, "bookworm") in (True, False)


def test_mmdebstrap_s_own_words_are_in_the_error(tmp_path: Path) -> None:
    """And running out of space has its own cause."""
    for words, cause in (("E: cannot resolve", Cause.IMAGE_MISSING), ("E: write: No space left on device", Cause.DISK)):
        with pytest.raises(SandboxError, match="exit code 25: E: ") as caught:
            rootfs.run_mmdebstrap(["sh", "-c", f"echo 'I: start...'; echo '{words}' >&2; exit 25"], dict(os.environ), QUIET)
        assert caught.value.cause is cause


def test_too_little_room_is_told_before_anything_is_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The sentence names the place, what is free and what is needed."""
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10, 10, 50 << 20))
    with pytest.raises(SandboxError, match="has 50 MB free; building the image needs about") as caught:
        rootfs.build_root(recipe.load_recipe(), None, tmp_path / "x.tar", QUIET)
    assert caught.value.cause is Cause.DISK


def test_mmdebstrap_is_unpacked_aside_where_it_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is installed on a machine that has an engine; empty package lists are filled first."""
    tools = tmp_path / "tools"
    tools.mkdir()
    lists = tmp_path / "lists"
    stand_in(
        tools / "apt-get",
        f"[ $2 = update ] && touch {lists}; [ $2 = download ] && [ -e {lists} ] && touch mmdebstrap_1_all.deb; true",
    )
    stand_in(tools / "dpkg-deb", 'mkdir -p "$3/usr/bin"; echo "from $2" > "$3/usr/bin/mmdebstrap"')
    stand_in(tools / "perl", "true")
    monkeypatch.setattr(rootfs, "which", lambda name: str(tools / name) if (tools / name).exists() else None)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    argv, _ = rootfs.find_mmdebstrap(scratch, QUIET)
    assert argv[0] == "perl"
    assert Path(argv[1]).read_text().endswith("mmdebstrap_1_all.deb\n")
    (tools / "perl").unlink()
    with pytest.raises(SandboxError, match="mmdebstrap, which would build one from packages, is not installed") as caught:
        rootfs.find_mmdebstrap(scratch, QUIET)
    assert "apt-get install mmdebstrap" in caught.value.diagnostics()
