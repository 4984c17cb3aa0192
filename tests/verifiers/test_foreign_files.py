"""Files of a judged tree are read only if they are files of it, and one that breaks the judge stops no other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox.interface import Entry, Snapshot
from sandbox.worker import _weight
from verifiers.gating.discover import find
from verifiers.interface import SkillFileError
from verifiers.subject import MAX_BYTES, load_subject, read_regular

SKILL = "from skill_api import skill_command\n@skill_command\nasync def f() -> None: ...\n"


@pytest.mark.parametrize("target", ["/dev/zero", "/etc/passwd", "../outside.py", "gone.py"])
@pytest.mark.parametrize("name", ["x.py", "skill.py"])
def test_links_out_of_the_tree_are_not_followed(tmp_path: Path, target: str, name: str) -> None:
    """Endless devices, secrets of the host, a file beside the tree, nothing."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tmp_path / "outside.py").write_text(SKILL, encoding="utf-8")
    (tree / name).symlink_to(target)
    with pytest.raises(SkillFileError, match=r"link|regular"):
        find([tree])


def test_links_within_the_tree_and_large_files(tmp_path: Path) -> None:
    """A link to a skill of the tree is that skill, once; what is too large to be looked through may be one."""
    (tmp_path / "a.py").write_text(SKILL, encoding="utf-8")
    (tmp_path / "b.py").symlink_to("a.py")
    (tmp_path / "large.py").write_bytes(b"#" * (MAX_BYTES + 1))
    assert [t.name for t in find([tmp_path])] == ["a", "large"]
    with pytest.raises(SkillFileError, match="larger"):
        load_subject(tmp_path / "large.py")


def test_pipes_and_devices_are_not_read(tmp_path: Path) -> None:
    """Not waited for either."""
    os.mkfifo(tmp_path / "p.py")
    for path in (tmp_path / "p.py", Path("/dev/zero")):
        with pytest.raises(SkillFileError, match="regular"):
            read_regular(path)
    with pytest.raises(SkillFileError, match="directory"):
        read_regular(tmp_path)


def test_the_weight_of_an_end_state() -> None:
    """Names count too: many empty files are not free."""
    assert _weight(Snapshot({"a": Entry("file", content=b"x" * 1000)})) > 1000
    assert _weight(Snapshot({f"{n}": Entry("file") for n in range(100)})) > 10_000
