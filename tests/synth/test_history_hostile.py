"""Histories that mean harm or are damaged: nothing of theirs runs or is followed, and each is one sentence."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest
from repositories import Repository, make, released

from synth.history.commits import read_history
from synth.history.learning import Learned, learn
from synth.history.objects import HistoryError, Objects


def subjects(repository: Path, until: str = "HEAD", since: str | None = None) -> list[str]:
    with Objects(repository) as objects:
        return [c.subject for c in read_history(objects, until, since).commits]


def release(learned: Learned) -> int:
    """How many commits the kind of the releases has."""
    return next(len(k.found) for k in learned.kinds if k.name == "release")


def trap(repository: Repository, marker: Path) -> None:
    """Sets every program that a repository can name, and attributes that call for them."""
    program = repository.path.parent / "trap"
    program.write_text(f"#!/bin/sh\necho ran >> {marker}\ncat\n", encoding="utf-8")
    program.chmod(0o755)
    for key in (
        "core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "core.gitProxy", "diff.external",
        "diff.trap.command", "diff.trap.textconv", "filter.trap.clean", "filter.trap.smudge", "filter.trap.process",
        "merge.trap.driver", "uploadpack.packObjectsHook", "gpg.program", "credential.helper", "log.diffMerges", "pager.log",
        "pager.diff-tree", "alias.trap", "interactive.diffFilter", "sequence.editor",
    ):  # fmt: skip
        repository.git("config", key, f"!{program}" if key.startswith("alias") else str(program))
    repository.git("config", "include.path", str(repository.path / "more"))
    (repository.path / ".git" / "info" / "attributes").write_text("* diff=trap filter=trap merge=trap\n", encoding="utf-8")
    for hook in (
        "post-checkout",
        "pre-commit",
        "reference-transaction",
        "fsmonitor-watchman",
        "post-index-change",
        "post-rewrite",
    ):
        shutil.copy(program, repository.path / ".git" / "hooks" / hook)


def test_nothing_of_a_repository_runs(tmp_path: Path) -> None:
    """The trap closes on git as it is used every day, and never on us."""
    made = released(tmp_path / "r")
    made.commit("Ask for the filters", {".gitattributes": "* diff=trap filter=trap\n"})
    marker = tmp_path / "marker"
    trap(made, marker)
    made.git("diff", "--ext-diff", "HEAD~1", "HEAD")
    assert marker.exists()
    marker.unlink()
    learned = learn(made.path, with_odd=True)
    assert release(learned) == 6
    assert learned.traces
    assert not marker.exists()


def test_nothing_is_written_to_it(tmp_path: Path) -> None:
    """Every file is as it was, and none is new."""
    made = released(tmp_path / "r", 4)
    before = {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in made.path.rglob("*")}
    learn(made.path)
    assert {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in made.path.rglob("*")} == before


def test_the_callers_environment_leads_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``GIT_DIR`` and its like are for other repositories: what is named is read."""
    made, other = released(tmp_path / "r", 4), make(tmp_path / "other")
    other.commit("Elsewhere", {"a": "b"})
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other.path / ".git" / "objects"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.bare")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "nonsense")
    assert subjects(made.path)[0] == "Release 0.4.0"


def test_replaced_and_grafted_commits_are_what_they_are(tmp_path: Path) -> None:
    """A repository cannot make one commit look like another to us."""
    made = make(tmp_path / "r")
    first = made.commit("One", {"a": "1"})
    second = made.commit("Two", {"a": "2"})
    third = made.commit("Three", {"a": "3"})
    made.git("replace", second, first)
    (made.path / ".git" / "info" / "grafts").write_text(f"{third}\n", encoding="ascii")
    assert made.git("log", "--format=%s") == "Three"
    assert subjects(made.path) == ["Three", "Two", "One"]


def test_borrowed_objects_are_not_followed(tmp_path: Path) -> None:
    """Alternates may name any repository of this machine."""
    released(tmp_path / "secret", 4)
    made = make(tmp_path / "r")
    made.git("clone", "-q", "--shared", "--bare", str(tmp_path / "secret"), "borrower.git")
    with pytest.raises(HistoryError, match="not among its own objects") as e:
        learn(made.path / "borrower.git")
    assert "borrows objects from another one" in e.value.diagnostics()


@pytest.mark.parametrize("part", ["pack", "ab"])
def test_objects_that_are_no_files_are_refused(tmp_path: Path, part: str) -> None:
    """A pipe would never end, and a link may lead anywhere."""
    made = released(tmp_path / "r", 4)
    folder = made.path / ".git" / "objects" / part
    folder.mkdir(exist_ok=True)
    os.mkfifo(folder / "cd0123456789")
    assert stat.S_ISFIFO((folder / "cd0123456789").stat().st_mode)
    with pytest.raises(HistoryError, match="not plain files"):
        learn(made.path)
    (folder / "cd0123456789").unlink()
    (folder / "cd0123456789").symlink_to("/etc/passwd")
    with pytest.raises(HistoryError, match="not plain files"):
        learn(made.path)


def test_objects_elsewhere_are_refused(tmp_path: Path) -> None:
    """A directory of objects that is a link out of the repository."""
    made = released(tmp_path / "r", 4)
    (made.path / ".git" / "objects").rename(tmp_path / "objects")
    (made.path / ".git" / "objects").symlink_to(tmp_path / "objects")
    with pytest.raises(HistoryError, match="outside of itself"):
        learn(made.path)


def test_a_link_is_followed_only_where_it_points_back(tmp_path: Path) -> None:
    """A linked working tree is read; a ``.git`` file that names somebody else's repository is not."""
    made = released(tmp_path / "r", 4)
    made.git("worktree", "add", "-q", str(tmp_path / "tree"), "-b", "side")
    assert subjects(tmp_path / "tree")[0] == "Release 0.4.0"
    (tmp_path / "copied").mkdir()
    shutil.copy(tmp_path / "tree" / ".git", tmp_path / "copied" / ".git")
    with pytest.raises(HistoryError, match="does not point back"):
        learn(tmp_path / "copied")


def test_a_tree_that_stands_for_more_files_than_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nested trees of a few hundred bytes: one sentence, in bounded time."""
    monkeypatch.setattr("synth.history.objects._MOST_SECONDS", 1)
    made = make(tmp_path / "r")
    made.commit("Begin", {"a": "1"})
    tree = made.git("rev-parse", "HEAD^{tree}")
    for _ in range(9):
        tree = made.git("mktree", given="".join(f"040000 tree {tree}\td{n}\n" for n in range(10)).encode())
    bomb = made.git("commit-tree", tree, "-p", "HEAD", "-m", "Boom")
    made.git("update-ref", "refs/heads/main", bomb)
    with pytest.raises(HistoryError, match="to list its changed files"):
        learn(made.path)


@pytest.mark.parametrize("what", ["HEAD", "HEAD^{tree}", "HEAD:app.toml"])
def test_a_damaged_object_is_one_sentence(tmp_path: Path, what: str) -> None:
    """A commit or a tree ends it; a file takes the trace of its commit along."""
    made = released(tmp_path / "r", 4)
    oid = made.git("rev-parse", what)
    file = made.path / ".git" / "objects" / oid[:2] / oid[2:]
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:12] + b"\0" * 40)
    if what.endswith("toml"):
        learned = learn(made.path, hold_out=0, with_odd=True)
        assert "the content of app.toml is damaged" in " ".join(why for _, why in learned.dropped)
        return
    with pytest.raises(HistoryError, match=r"cannot be read|has no commit"):
        learn(made.path)


def test_a_path_that_leads_out_of_the_tree_gives_no_trace(tmp_path: Path) -> None:
    """git refuses such a tree to users, not to whoever makes it by hand."""
    made = make(tmp_path / "r")
    made.commit("Begin", {"a": "1"})
    for n in range(4):
        blob = made.git("hash-object", "-w", "--stdin", given=f"v = {n}\n".encode())
        inner = made.git("mktree", given=f"100644 blob {blob}\tevil\n".encode())
        line = b"40000 ..\0" + bytes.fromhex(inner)
        tree = made.git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", given=line)
        made.git("update-ref", "HEAD", made.git("commit-tree", tree, "-p", "HEAD", "-m", f"Set v to {n}"))
    learned = learn(made.path)
    assert learned.traces == ()
    assert len(learned.dropped) >= 3


def test_a_submodule_a_link_a_pointer_and_what_is_missing_give_no_trace(tmp_path: Path) -> None:
    """What is not in the repository is said, and is no evidence."""
    made = make(tmp_path / "r")
    made.commit("Begin", {"a": "1"})
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:{:064d}\nsize {}\n"
    for n in range(1, 5):
        made.git("update-index", "--add", "--cacheinfo", f"160000,{n:040d},lib")
        made.git("commit", "-q", "-m", f"Move lib to {n}")
        made.commits += 1
    for n in range(1, 5):
        (made.path / "now").unlink(missing_ok=True)
        (made.path / "now").symlink_to(f"v{n}")
        made.git("add", "now")
        made.git("commit", "-q", "-m", f"Point now at {n}")
        made.commits += 1
    for n in range(1, 5):
        (made.path / "big.bin").write_text(pointer.format(n, n), encoding="ascii")
        made.git("add", "big.bin")
        made.git("commit", "-q", "-m", f"Refresh the picture {n}")
        made.commits += 1
    learned = learn(made.path)
    said = " ".join(why for _, why in learned.dropped)
    assert learned.traces == ()
    assert "moves a submodule (lib)" in said
    assert "changes a symbolic link (now)" in said
    assert "big.bin is kept elsewhere (LFS)" in said


def test_a_partial_clone_fetches_nothing(tmp_path: Path) -> None:
    """Files that it left out are not asked for, not even from a remote on this machine."""
    made = released(tmp_path / "r")
    made.git("config", "uploadpack.allowFilter", "true")
    made.git("clone", "-q", "--bare", "--no-local", "--filter=blob:none", f"file://{made.path}", str(tmp_path / "part.git"))
    size = sum(p.stat().st_size for p in (tmp_path / "part.git").rglob("*"))
    learned = learn(tmp_path / "part.git")
    assert learned.traces == ()
    assert any("not in this clone" in why for _, why in learned.dropped)
    assert sum(p.stat().st_size for p in (tmp_path / "part.git").rglob("*")) == size


def test_a_shallow_clone_says_where_it_ends(tmp_path: Path) -> None:
    """Its oldest commit is no addition of every file."""
    made = released(tmp_path / "r")
    made.git("clone", "-q", "--bare", "--depth", "7", f"file://{made.path}", str(tmp_path / "shallow.git"))
    learned = learn(tmp_path / "shallow.git")
    assert any("the clone is shallow" in note for note in learned.notes)
    assert any("1 root" in note for note in learned.notes)
    assert release(learned) == 3


def test_a_bare_repository_is_read(tmp_path: Path) -> None:
    """Objects only: no working tree is needed."""
    made = released(tmp_path / "r", 4)
    made.git("clone", "-q", "--bare", str(made.path), str(tmp_path / "bare.git"))
    shutil.rmtree(made.path)
    assert release(learn(tmp_path / "bare.git")) == 4


def test_a_repository_of_longer_ids_is_read(tmp_path: Path) -> None:
    """SHA-256."""
    (tmp_path / "r").mkdir()
    made = Repository(tmp_path / "r")
    made.git("init", "-q", "-b", "main", "--object-format=sha256")
    for n in range(4):
        made.commit(f"Set a to {n}", {"a": f"a = {n}\n"})
    (kind,) = learn(made.path).kinds
    assert (len(kind.found), len(kind.found[0].commit.oid)) == (3, 64)


def test_octopus_merges_reverts_and_empty_commits_are_told_apart(tmp_path: Path) -> None:
    """None of them is work to learn."""
    made = released(tmp_path / "r")
    for side in ("one", "two"):
        made.git("checkout", "-q", "-b", side, "main")
        made.commit(f"Side {side}", {side: side})
    made.git("checkout", "-q", "main")
    made.git("merge", "-q", "--no-ff", "-m", "Release 9.9.9", "one", "two")
    made.git("revert", "--no-edit", "HEAD~1")
    made.commit("Release 8.8.8", {})
    learned = learn(made.path)
    assert release(learned) == 6
    assert any("1 merge" in n and "1 revert" in n and "1 empty" in n for n in learned.notes)


def test_paths_and_messages_in_no_known_encoding(tmp_path: Path) -> None:
    """They come through as they are, to the trace and back."""
    from synth.tracing.traces import dump_traces, load_traces

    made = make(tmp_path / "r")
    name = os.fsdecode(b"caf\xe9.txt")
    made.commit("Begin", {name: "v = 0\n"})
    for n in range(1, 6):
        made.commit(f"Set to {n}", {name: f"v = {n}\n"})
        raw = made.git("cat-file", "commit", "HEAD").encode().replace(b"Set to", b"R\xe9gl\xe9 \xe0")
        made.git("reset", "-q", "--soft", made.git("hash-object", "-w", "-t", "commit", "--stdin", given=raw))
    learned = learn(made.path)
    assert len(learned.traces) == 4
    file = tmp_path / "t.jsonl"
    file.write_text(dump_traces(learned.traces), encoding="utf-8")
    again = load_traces(file)
    assert [t.workspace for t in again] == [t.workspace for t in learned.traces]
    assert name in (again[0].workspace or {})
    assert "\\xe9" in again[0].task_description


@pytest.mark.parametrize(
    ("revision", "why"),
    [
        ("--output=/tmp/x", "has no commit '--output"),
        ("nowhere", "has no commit 'nowhere'"),
        ("HEAD~99", "has no commit 'HEAD~99'"),
    ],
)
def test_a_revision_is_never_an_option(tmp_path: Path, revision: str, why: str) -> None:
    """What names no commit is one sentence."""
    made = released(tmp_path / "r", 3)
    with pytest.raises(HistoryError, match=why):
        learn(made.path, revision)
    with pytest.raises(HistoryError, match=why):
        learn(made.path, since=revision)


def test_what_has_no_history_says_so(tmp_path: Path) -> None:
    """No repository, an empty one, a range without commits, a damaged one."""
    (tmp_path / "plain").mkdir()
    with pytest.raises(HistoryError, match="is no git repository"):
        learn(tmp_path / "plain")
    with pytest.raises(HistoryError, match="has no commit yet"):
        learn(make(tmp_path / "empty").path)
    made = released(tmp_path / "r", 3)
    with pytest.raises(HistoryError, match="has no commit between HEAD and HEAD"):
        learn(made.path, since="HEAD")
    tree = made.git("rev-parse", "HEAD~2^{tree}")
    (made.path / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    with pytest.raises(HistoryError, match="cannot be read"):
        learn(made.path)
