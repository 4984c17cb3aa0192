"""Draft directories: written whole, read back the same, and a person's edits never overwritten."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from factories import draft, files_below
from hypothesis import given
from hypothesis import strategies as st

from synth.draft import is_ours, read_bindings, read_draft, write_draft
from synth.owned import Conflict
from verifiers.interface import BindingError, EvidenceError, SkillFileError


def test_a_draft_reads_back_as_it_was_written(tmp_path: Path) -> None:
    """Four files and our mark; equal values."""
    path = write_draft(tmp_path, draft())
    assert path == tmp_path / "batch_rename"
    assert read_draft(path) == draft()
    assert sorted(p.name for p in path.iterdir()) == [
        ".assay-draft.json",
        "SKILL.md",
        "bindings.json",
        "evidence.jsonl",
        "skill.py",
    ]


def test_our_own_draft_is_replaced_and_an_equal_one_left(tmp_path: Path) -> None:
    """A new draft takes the place of the one that we wrote; nothing else is left beside it."""
    path = write_draft(tmp_path, draft())
    before = path.stat().st_ino
    assert write_draft(tmp_path, draft()).stat().st_ino == before
    changed = draft(summary="Better.")
    assert write_draft(tmp_path, changed) == path
    assert read_draft(path) == changed
    assert [p.name for p in tmp_path.iterdir()] == ["batch_rename"]


EDITS = {
    "an edited file": lambda p: (p / "skill.py").write_text("# mine\n"),
    "an added file": lambda p: (p / "notes.txt").write_text("mine"),
    "a removed file": lambda p: (p / "SKILL.md").unlink(),
    "a changed mode": lambda p: (p / "skill.py").chmod(0o755),
    "a removed mark": lambda p: (p / ".assay-draft.json").unlink(),
    "a broken mark": lambda p: (p / ".assay-draft.json").write_text("[]"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_persons_edit_is_never_overwritten(tmp_path: Path, edit: str) -> None:
    """The new draft goes beside it, or nowhere at all."""
    path = write_draft(tmp_path, draft())
    EDITS[edit](path)
    kept = files_below(path)
    changed = draft(summary="Newer.")
    with pytest.raises(Conflict, match="edited"):
        write_draft(tmp_path, changed, on_conflict="error")
    assert write_draft(tmp_path, changed) == tmp_path / "batch_rename_2"
    assert write_draft(tmp_path, draft(summary="Newest.")) == tmp_path / "batch_rename_2"
    assert files_below(path) == kept
    assert not is_ours(path)


def test_anything_else_of_that_name_is_left_alone(tmp_path: Path) -> None:
    """A file, a link to a directory of another owner."""
    (tmp_path / "batch_rename").write_text("a file")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "batch_rename_2").symlink_to("elsewhere")
    assert write_draft(tmp_path, draft()) == tmp_path / "batch_rename_3"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_draft_that_has_no_room_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says which draft, and no directory is left that was only made for it; an older draft stays."""

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    path = write_draft(tmp_path / "old", draft())
    kept = files_below(path)
    monkeypatch.setattr(os, "fsync", full)
    for root in (tmp_path / "new" / "drafts", tmp_path / "old"):
        with pytest.raises(OSError, match="No space left") as e:
            write_draft(root, draft(summary="Newer."))
        assert e.value.filename == str(root / "batch_rename")
    assert [p.name for p in tmp_path.iterdir()] == ["old"]
    assert files_below(tmp_path / "old") == {f"batch_rename/{name}": data for name, data in kept.items()}


def test_an_interrupted_replacement_is_taken_back(tmp_path: Path) -> None:
    """Killed between its two renames: the old draft comes back with the next write."""
    path = write_draft(tmp_path, draft())
    path.rename(tmp_path / ".batch_rename.old")
    assert write_draft(tmp_path, draft()) == path
    assert read_draft(path) == draft()
    assert [p.name for p in tmp_path.iterdir()] == ["batch_rename"]


@given(
    st.dictionaries(
        st.sampled_from(["rename-00", "rename-01"]), st.dictionaries(st.text(max_size=5), st.text(max_size=9), max_size=3)
    )
)
def test_any_bindings_survive(tmp_path_factory: pytest.TempPathFactory, bindings: dict[str, dict[str, str]]) -> None:
    """Lone surrogates, NULs, quotes and all."""
    made = replace(draft(), bindings=bindings)
    assert read_draft(write_draft(tmp_path_factory.mktemp("d"), made)).bindings == bindings


@given(st.binary(max_size=60))
def test_any_bindings_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """One typed error for every file that is not one."""
    path = tmp_path_factory.getbasetemp() / "bindings.json"
    path.write_bytes(data)
    try:
        read = read_bindings(path)
    except BindingError:
        return
    assert all(isinstance(args, dict) for args in read.values())


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    """No skill, no evidence: which file, and what belongs there."""
    with pytest.raises(SkillFileError):
        read_draft(tmp_path)
    path = write_draft(tmp_path, draft())
    (path / "evidence.jsonl").unlink()
    with pytest.raises(EvidenceError):
        read_draft(path)
    (path / "bindings.json").unlink()
    assert read_bindings(path / "bindings.json") == {}
