"""Git directories with other words in them are what git would have written with those words."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.interface import Entry, Snapshot
from verifiers.expectation.oracle import Expectation
from verifiers.expectation.repositories import forgotten, repository_summary
from verifiers.worlds.catalog import CATALOG
from verifiers.worlds.grammar import grammar
from verifiers.worlds.plans import Plan
from verifiers.worlds.repositories import Change, below, beside, continued, has_merges, respelled, told
from verifiers.worlds.template import templates
from verifiers.worlds.tokens import rename_tree
from verifiers.worlds.variation import Step
from verifiers.worlds.world import realise

ENV = {
    "PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "Ada Birk",
    "GIT_AUTHOR_EMAIL": "ada@home.example", "GIT_COMMITTER_NAME": "Ada Birk", "GIT_COMMITTER_EMAIL": "ada@home.example",
    "GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z",
}  # fmt: skip


def git(at: Path, *argv: str) -> str:
    done = subprocess.run(["git", "-C", str(at), *argv], env=ENV, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def tree_of(top: Path) -> Snapshot:
    found = {}
    for path in sorted(top.rglob("*")):
        name = str(path.relative_to(top))
        found[name] = Entry("dir", 0o755) if path.is_dir() else Entry("file", 0o644, path.read_bytes())
    return Snapshot(found)


def laid_out(tree: Snapshot, top: Path) -> Path:
    for path, e in tree.items():
        at = top / path
        if e.type == "dir":
            at.mkdir(parents=True, exist_ok=True)
        else:
            at.parent.mkdir(parents=True, exist_ok=True)
            at.write_bytes(e.content)
    return top


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """A repository with two branches, a note on a tag, packed and loose parts, and something staged."""
    top = tmp_path_factory.mktemp("made")
    site = top / "site"
    (site / "pages").mkdir(parents=True)
    git(top, "init", "-q", "-b", "main", "site")
    (site / "pages/harbour.txt").write_text("ships and gulls\n")
    (site / "logo.bin").write_bytes(b"\xff\xfeships")
    git(site, "add", "-A")
    git(site, "commit", "-qm", "ships come in")
    git(site, "tag", "-am", "the first harbour", "v1.0")
    git(site, "branch", "gulls")
    git(site, "gc", "-q")
    (site / "pages/storm.txt").write_text("harbour closed\n")
    git(site, "add", "-A")
    git(site, "commit", "-qm", "a storm over the harbour")
    (site / "pages/harbour.txt").write_text("ships, gulls, storm\n")
    git(site, "add", "-A")
    return tree_of(top)


def test_every_word_is_another_one_and_git_is_content(tree: Snapshot, tmp_path: Path) -> None:
    """Names, contents, messages, refs and people; nothing is left that git would call changed or broken."""
    renamed = rename_tree(tree, {"harbour": "port", "gulls": "crows", "Ada": "Eva", "site": "shop", "v": "r"}, frozenset())
    assert renamed is not None
    before, after = laid_out(tree, tmp_path / "a") / "site", laid_out(renamed, tmp_path / "b") / "shop"
    git(after, "fsck", "--strict")
    assert git(after, "tag", "-n9").split() == ["r1.0", "the", "first", "port"]
    assert git(after, "branch", "--list", "crows").strip() == "crows"
    assert git(after, "log", "--format=%an %s%n%b", "--name-status") == git(
        before, "log", "--format=%an %s%n%b", "--name-status"
    ).replace("harbour", "port").replace("Ada", "Eva")
    assert git(after, "status", "--short") == git(before, "status", "--short").replace("harbour", "port")
    assert git(after, "show", "HEAD:pages/port.txt") == "ships and crows\n"
    assert renamed["shop/logo.bin"].content == b"\xff\xfeships"


def test_one_more_commit_is_one_of_git(tree: Snapshot, tmp_path: Path) -> None:
    """On top of the branch, with one file changed; what was staged before stays staged."""
    new = continued(below(tree, "site/.git"), [Change("pages/storm.txt", b"harbour open\n", "Calm again")])
    assert new is not None
    site = {f"site/.git/{p}": e for p, e in new}
    files = {"site/pages/storm.txt": Entry("file", content=b"harbour open\n")}
    at = laid_out(tree.replace({**site, **files}), tmp_path) / "site"
    git(at, "fsck", "--strict")
    assert git(at, "log", "-1", "--format=%s", "--name-status").split() == ["Calm", "again", "M", "pages/storm.txt"]
    assert git(at, "log", "--oneline").count("\n") == 3
    assert git(at, "status", "--short").split() == ["M", "pages/harbour.txt"]


def test_a_start_gets_one_commit_more(tree: Snapshot, tmp_path: Path) -> None:
    """As a variation: file, index and history together; not where the file is not as it was committed."""
    x = Expectation(tree, tree, frozenset(), "", True, (0,), (True,))
    g = grammar("t", {}, templates([(("git -C site log",), {})])[0], x)
    assert ("site", "site/pages/storm.txt") in CATALOG["newer-commit"].choices(g)
    world = realise(g, Plan((Step("newer-commit", ("site", "site/pages/storm.txt")),)))
    assert world is not None
    at = laid_out(world.base, tmp_path) / "site"
    assert git(at, "log", "--oneline").count("\n") == 3
    assert git(at, "status", "--short").split() == ["M", "pages/harbour.txt"]


def test_a_file_that_git_does_not_know_gets_no_commit(tree: Snapshot) -> None:
    assert continued(below(tree, "site/.git"), [Change("pages/none.txt", b"x\n", "None")]) is None
    assert continued((("HEAD", Entry("file", content=b"junk")),), [Change("a", b"", "")]) is None


def test_more_commits_take_the_latest_names_along(tree: Snapshot, tmp_path: Path) -> None:
    """Tags and branches alike, tags of their own too, and a merge brings them in; older names stay."""
    at = laid_out(tree, tmp_path / "a") / "site"
    git(at, "tag", "-am", "the second", "v2.0")
    changes = [Change("pages/storm.txt", f"calm {n}\n".encode(), f"Calm {n}") for n in range(3)]
    listed = below(tree_of(tmp_path / "a"), "site/.git")
    new = continued(listed, changes, moved=True, merged=True)
    assert new is not None
    assert not has_merges(listed)
    assert has_merges(new)
    files = {f"site/.git/{p}": e for p, e in new} | {"site/pages/storm.txt": Entry("file", content=b"calm 2\n")}
    there = laid_out(tree.replace(files), tmp_path / "b") / "site"
    git(there, "fsck", "--strict")
    told = git(there, "log", "--format=%s", "v1.0..v2.0").splitlines()
    assert told == ["Merge branch", "Calm 2", "Calm 1", "Calm 0", "a storm over the harbour"]
    assert git(there, "log", "--merges", "--format=%s", "main").splitlines() == ["Merge branch"]
    assert git(there, "rev-parse", "gulls") == git(at, "rev-parse", "gulls")
    assert git(there, "status", "--short").split() == ["M", "pages/harbour.txt"]


def test_a_repository_without_the_words_stays_as_it_is(tree: Snapshot) -> None:
    listed = below(tree, "site/.git")
    assert respelled(listed, lambda text: text.replace("volcano", "lake")) == listed


def test_what_people_wrote_is_found(tree: Snapshot) -> None:
    found = told(below(tree, "site/.git"))
    assert {"ships come in", "the first harbour", "Ada Birk <ada@home.example>"} <= set(found.splitlines())


@settings(max_examples=30)
@given(st.sampled_from(["HEAD", "index", "packed-refs", "objects", "logs/HEAD"]), st.binary(max_size=60))
def test_a_broken_repository_stays_as_it_is(tree: Snapshot, path: str, junk: bytes) -> None:
    """Whatever is in the way of reading it: no error, and nothing is made up."""
    listed = tuple((p, Entry("file", e.mode, junk) if p == path else e) for p, e in below(tree, "site/.git"))
    found = respelled(listed, lambda text: text.replace("harbour", "port"))
    assert {p for p, _ in found} >= {"HEAD", "config"}
    assert told(listed) is not None


def test_what_is_there_by_half_is_still_compared(tree: Snapshot) -> None:
    """Whichever object, ref or other file is missing, as after a kill: a summary comes out."""
    inside = [p for p, e in tree.items() if p.startswith("site/.git/") and e.type == "file"]
    assert any("/objects/" in p for p in inside)
    for path in inside:
        half = tree.replace({path: None})
        assert repository_summary(half, "site/.git")
        assert isinstance(told(below(half, "site/.git")), str)


# ---------------------------------------------------------------- what only git's own record names


@pytest.fixture
def stashed(tmp_path: Path) -> Path:
    """A repository with a stash, and a branch to be removed."""
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "a").write_text("1\n")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-qm", "one")
    git(tmp_path, "branch", "other")
    (tmp_path / "a").write_text("2\n")
    git(tmp_path, "stash", "push", "-qm", "half done")
    return tmp_path


def test_who_empties_the_reflog_forgets_the_stash(stashed: Path) -> None:
    base = tree_of(stashed)
    assert not forgotten(base, base, base)
    git(stashed, "reflog", "expire", "--expire=now", "--all")
    assert forgotten(base, base, tree_of(stashed))


def test_who_drops_a_stash_that_the_commands_drop_is_right(stashed: Path) -> None:
    base = tree_of(stashed)
    git(stashed, "stash", "drop", "-q")
    dropped = tree_of(stashed)
    assert forgotten(base, base, dropped) == "On main: half done"
    assert not forgotten(base, dropped, dropped)


def test_a_commit_more_or_a_renamed_branch_forgets_nothing(stashed: Path) -> None:
    base = tree_of(stashed)
    git(stashed, "branch", "-m", "other", "another")
    git(stashed, "commit", "-q", "--allow-empty", "-m", "two")
    assert not forgotten(base, base, tree_of(stashed))


def test_who_prunes_forgets_a_commit_that_nothing_names(stashed: Path) -> None:
    """Neither a branch nor a line of the record leads to it."""
    git(stashed, "stash", "drop", "-q")
    base = tree_of(stashed)
    git(stashed, "prune", "--expire=now")
    pruned = tree_of(stashed)
    assert "half done" in forgotten(base, base, pruned)
    assert not forgotten(base, pruned, pruned)


def test_who_makes_the_history_anew_leaves_it_behind(stashed: Path) -> None:
    """All its commits are there, and no branch leads to them; a tag may be a note that is no commit."""
    git(stashed, "tag", "-am", "noted", "v1")
    base = tree_of(stashed)
    git(stashed, "commit", "-q", "--allow-empty", "-m", "two")
    more = tree_of(stashed)
    assert not forgotten(base, more, more)
    git(stashed, "tag", "-d", "v1")
    git(stashed, "branch", "-D", "other")
    git(stashed, "checkout", "-fq", "--orphan", "anew")
    git(stashed, "commit", "-qm", "one")
    git(stashed, "branch", "-M", "anew", "main")
    anew = tree_of(stashed)
    assert forgotten(base, more, anew)
    assert not forgotten(base, anew, anew)


def test_who_packs_forgets_nothing(stashed: Path) -> None:
    """The commits lie in another file."""
    base = tree_of(stashed)
    git(stashed, "repack", "-adkq")
    git(stashed, "prune-packed", "-q")
    packed = tree_of(stashed)
    assert any(path not in packed for path in base)
    assert not forgotten(base, base, packed)


def test_a_commit_that_was_taken_back_lies_beside(stashed: Path) -> None:
    """Nothing leads to it, and git can have it."""
    files = beside(below(tree_of(stashed), ".git"), "Taken back")
    assert {e.type for e in files.values()} == {"dir", "file"}
    assert not beside((), "Taken back")
    base = tree_of(stashed)
    more = Snapshot({**base, **{f".git/{p}": e for p, e in files.items()}})
    assert repository_summary(more, ".git") == repository_summary(base, ".git")
    assert forgotten(more, more, base) == "Taken back"
