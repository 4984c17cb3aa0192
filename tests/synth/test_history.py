"""Kinds of commits: found without labels, of the newest layout, odd ones told, and made into traces."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from repositories import Repository, make, released

from synth.history.eras import Kind
from synth.history.learning import held_back, learn
from synth.history.objects import HistoryError
from synth.history.shapes import Hunk, hunks, shapes_of
from synth.history.values import abstract, tokens, without_names
from synth.interface import ExecutionTrace
from synth.tracing.traces import to_evidence


def kind(repository: Repository, name: str) -> Kind:
    return next(k for k in learn(repository.path, traces=False).kinds if k.name == name)


def sizes(repository: Repository) -> dict[str, int]:
    return {k.name: len(k.found) for k in learn(repository.path, traces=False).kinds}


def content(trace: ExecutionTrace, path: str) -> bytes:
    assert trace.workspace is not None
    return base64.b64decode(trace.workspace[path]["content_b64"])


# ---------------------------------------------------------------- values and shapes


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('version = "1.2.3"', 'version = "<value>"'),
        ("Release v1.2.0-rc.1", "Release <value>"),
        ("Copyright 2014-2024 Ada", "Copyright <value> Ada"),
        ("jruby-9.4.0.0", "jruby-<value>"),
        ("sha256 " + "0a" * 32, "sha256 <hash>"),
        ("uses: a/b@" + "1f" * 20 + " # v4", "uses: a/b@<hash> # <value>"),
        ("utf8 and base64", "utf8 and base64"),
        ("python3.11", "python3.11"),
    ],
)
def test_values_become_signs(text: str, left: str) -> None:
    """Versions, dates, numbers and hashes; a digit within a word is part of the word."""
    assert abstract(text) == left


def test_names_become_signs_whole() -> None:
    """With what follows a slash."""
    assert tokens(abstract("Bump actions/checkout from 3 to 4")) == ["bump", "actions/checkout", "from", "to"]
    assert without_names("uses: actions/cache/save@<value>", {"actions/cache"}) == "uses: <name>/save@<value>"


@pytest.mark.parametrize(
    ("before", "after", "shape"),
    [
        ('"version": "1.0"\n', '"version": "1.1"\n', {'sub "version": "<value>"'}),
        ("a\nb\n", "a\nx\nb\n", {"ins"}),
        ("a\n", "a\nx\ny\n", {"ins+"}),
        ("[\n  {1}\n]\n", "[\n  {1},\n  {2}\n]\n", {"ins"}),
        ("a\nb\n", "a\n", {"del"}),
        ("one two three\n", "quite something else\n", {"edit"}),
    ],
)
def test_shapes_of_changes(before: str, after: str, shape: set[str]) -> None:
    """One word each, with the template of a line whose values alone differ."""
    found = hunks(before.encode(), after.encode())
    assert found is not None
    assert shapes_of(found) == shape


def test_what_is_no_text_has_no_shape() -> None:
    """Bytes are not compared by lines."""
    assert hunks(b"\0\1", b"\0\2") is None
    assert hunks(b"a\n", b"a\n") == ()
    assert hunks(b"a\n", b"b\n") == (Hunk(("a\n",), ("b\n",)),)


# ---------------------------------------------------------------- kinds


def test_releases_are_found_among_other_work(tmp_path: Path) -> None:
    """Without being told what to look for."""
    found = kind(released(tmp_path / "r"), "release")
    assert (len(found.found), len(found.era), len(found.conforming), found.message) == (6, 6, 6, "release <value>")


def test_one_form_of_message_may_be_two_kinds(tmp_path: Path) -> None:
    """A version alone says a release here and a new definition there: what is touched tells them apart."""
    made = make(tmp_path / "r")
    made.commit("Begin", {"package.json": '{\n  "version": "0.0.0"\n}\n', "defs/0.0.1": "get 0.0.1\n"})
    for n in range(1, 6):
        made.commit(f"1.{n}.0", {f"defs/1.{n}.0": f"get 1.{n}.0\n"})
        made.commit(f"3.{n}.0", {"package.json": f'{{\n  "version": "3.{n}.0"\n}}\n'})
    assert sizes(made) == {"add-defs": 5, "change-package-json": 5}


def test_one_change_by_turns_is_two_kinds(tmp_path: Path) -> None:
    """The messages alone say what the version becomes."""
    made = make(tmp_path / "r")
    made.commit("Begin", {"v.py": 'v = "0.9"\n'})
    for n in range(1, 6):
        made.commit("Bump version for release", {"v.py": f'v = "1.{n}"\n'})
        made.commit("Bump version for development", {"v.py": f'v = "1.{n + 1}.dev0"\n'})
    assert sizes(made) == {"bump-version-for-release": 5, "bump-version-for-development": 5}


def test_names_in_messages_are_values(tmp_path: Path) -> None:
    """Which action is updated differs from commit to commit, and stands in the line."""
    made = make(tmp_path / "r")
    text = "uses: one/a@v1\nuses: two/b@v1\nuses: three/c@v1\n"
    made.commit("Begin", {"ci.yml": text})
    for n, name in enumerate(["one/a", "two/b", "three/c", "one/a", "three/c"], 2):
        line = next(x for x in text.splitlines() if name in x)
        text = text.replace(line, f"uses: {name}@v{n}")
        made.commit(f"Bump {name} from {line.rpartition('@')[2]} to v{n}", {"ci.yml": text})
    assert sizes(made) == {"bump-from-to": 5}


def test_names_that_only_the_message_tells_apart(tmp_path: Path) -> None:
    """A contributor is added to a table below their number, by a name that stands in no short line."""
    made = make(tmp_path / "r")
    head, rows = "Thanks to all {} of us:\n\n", "| who | what |\n"
    made.commit("Begin", {"README.md": head.format(0) + rows})
    for n, name in enumerate(["Ada Lovelace", "Grace", "Edsger W.", "Barbara", "Donald"], 1):
        rows += f"| **{name}** has written some of the code | code |\n"
        made.commit(f"docs: add {name} as a contributor for code", {"README.md": head.format(n) + rows})
    assert sizes(made) == {"docs-add-as-a-contributor": 5}


def test_names_of_places_are_kinds(tmp_path: Path) -> None:
    """Where a name is part of a path that comes again and again, it says which kind it is."""
    made = make(tmp_path / "r")
    made.commit("Begin", {"a": "1"})
    for n in range(1, 5):
        made.commit(f"Add jruby {n}.0", {f"defs/jruby-{n}.0": f"get {n}.0\n"})
        made.commit(f"Add mruby {n}.1", {f"defs/mruby-{n}.1": f"fetch {n}.1\n"})
    assert sizes(made) == {"add-jruby": 4, "add-mruby": 4}


def test_a_kind_is_called_what_its_messages_share(tmp_path: Path) -> None:
    """Not what one of them says; what is done to which path where they share too little."""
    made = make(tmp_path / "r")
    made.commit("Begin", {"list.txt": "a\n", "bots.json": "[]\n"})
    lines, bots = ["a"], "[]"
    for word in ("bee", "cat", "dog", "eel"):
        lines.append(word)
        made.commit(f"Greet the {word} kindly", {"list.txt": "".join(f"{x}\n" for x in lines)})
        bots = bots[:-1] + f"\n{word}\n]"
        made.commit(f"Add {word}", {"bots.json": f"{bots}\n"})
    learned = learn(made.path, traces=False)
    assert {k.name: k.message for k in learned.kinds} == {"greet-the-kindly": "greet the … kindly", "add-bots-json": "add …"}


def test_work_that_only_looks_alike_is_no_kind(tmp_path: Path) -> None:
    """One file edited by hand again and again, each time with something else to say."""
    made = make(tmp_path / "r")
    words = ["cache", "parser", "lexer", "tokens", "escape", "unicode", "speed"]
    made.commit("Begin", {"x.py": "start\n"})
    for n, word in enumerate(words):
        made.commit(
            f"{word.title()} handling is {'more ' * n}careful", {"x.py": f"def {word}():\n    return {word!r} * {n}\n" * (n + 1)}
        )
    assert sizes(made) == {}


def test_bots_and_generated_files_are_told(tmp_path: Path) -> None:
    """Who made it, and which files a tool writes."""
    made = make(tmp_path / "r")
    made.commit("Begin", {"p.json": '{"v": "0"}\n', "package-lock.json": '{"v": "0"}\n'})
    for n in range(1, 5):
        files = {"p.json": f'{{"v": "{n}"}}\n', "package-lock.json": f'{{"v": "{n}"}}\n'}
        made.commit(f"chore: release {n}.0", files, GIT_AUTHOR_NAME="release[bot]" if n > 1 else "Ada")
    found = kind(made, "chore-release")
    assert (len(found.found), found.by_bots, found.generated) == (4, 3, ("package-lock.json",))


# ---------------------------------------------------------------- eras and odd ones


def test_the_newest_layout_counts(tmp_path: Path) -> None:
    """The version moved from one file to another: one kind, of which the newer half is learned from."""
    made = make(tmp_path / "r")
    made.commit("Begin", {"setup.py": 'version = "0.1"\n'})
    for n in range(2, 6):
        made.commit(f"Release 0.{n}", {"setup.py": f'version = "0.{n}"\n'})
    made.commit("Move the version", {"setup.py": None, "app.toml": 'version = "0.5"\n'})
    for n in range(6, 10):
        made.commit(f"Release 0.{n}", {"app.toml": f'version = "0.{n}"\n'})
    found = kind(made, "release")
    assert (len(found.found), len(found.era), len(found.conforming)) == (8, 4, 4)
    assert {p for f in found.era for p, _ in f.touched} == {"app.toml"}


def test_another_indent_is_another_layout(tmp_path: Path) -> None:
    """A tool that writes tabs came in: what is learned from blanks would find nothing. Several depths are one."""
    made = make(tmp_path / "r")
    made.commit("Begin", {"app.json": '{\n  "version": "0.1"\n}\n', "ci.yml": "a:\n    - x@1\n"})
    for n in range(2, 12):
        blank = "  " if n < 7 else "\t"
        made.commit(f"Release 0.{n}", {"app.json": f'{{\n{blank}"version": "0.{n}"\n}}\n'})
        made.commit(f"Pin action {n}", {"ci.yml": f"a:\n{'  ' * (1 + n % 2)}- x@{n}\n"})
    assert {k.name: len(k.era) for k in learn(made.path, traces=False).kinds} == {"release": 5, "pin-action": 10}


def test_odd_commits_are_told_and_are_no_evidence(tmp_path: Path) -> None:
    """One leaves a file out, one takes another along, one does more in the same file, one is much larger."""
    made = released(tmp_path / "r", 8)
    release = {"app.toml": 'name = "app"\nversion = "{}"\n', "app.py": '__version__ = "{}"\n'}
    made.commit("Release 1.0.0", {k: v.format("1.0.0") for k, v in release.items()} | {"x.py": "x = 'rider'\n"})
    made.commit("Release 1.1.0", {"app.toml": release["app.toml"].format("1.1.0")})
    made.commit("Release 1.2.0", {k: v.format("1.2.0") for k, v in release.items()})
    made.commit(
        "Release 1.3.0", {"app.toml": '[app]\nname = "app"\nversion = "1.3.0"\n', "app.py": release["app.py"].format("1.3.0")}
    )
    found = kind(made, "release")
    assert {f.commit.subject: why for f, why in found.odd} == {
        "Release 1.0.0": "also changes x.py",
        "Release 1.1.0": "leaves out app.py",
        "Release 1.3.0": "changes more in app.toml",
    }
    learned = learn(made.path, kind="release", hold_out=0, with_odd=True)
    assert {t.task_description for t in learned.odd} == {"Release 1.0.0", "Release 1.1.0", "Release 1.3.0"}
    assert not {t.task_description for t in learned.odd} & {t.task_description for t in learned.traces}


def test_a_message_without_the_values_that_others_give_is_odd(tmp_path: Path) -> None:
    """Nobody could do it from the request."""
    made = make(tmp_path / "r")
    made.commit("Begin", {"ci.yml": "rev: 0.0.0\n"})
    for n in range(1, 9):
        made.commit("Autoupdate" + (f"\n\nto {n}.0.{n}" if n != 4 else ""), {"ci.yml": f"rev: {n}.0.{n}\n"})
    (odd,) = kind(made, "autoupdate").odd
    assert odd[1] == "does not name the values that it puts in"


# ---------------------------------------------------------------- traces


def test_a_trace_is_the_commit(tmp_path: Path) -> None:
    """The start is the parent's tree, the edits lead to the commit's, the message is the request, and the time the author's."""
    made = released(tmp_path / "r")
    learned = learn(made.path, kind="release", hold_out=2)
    assert [t.task_description for t in learned.traces] == [f"Release 0.{n}.0" for n in range(1, 5)]
    assert [t.task_description for t in learned.held_out] == ["Release 0.5.0", "Release 0.6.0"]
    last = learned.held_out[-1]
    assert content(last, "app.py") == b'__version__ = "0.5.0"\n'
    evidence = to_evidence(last)
    assert evidence.base is not None
    assert evidence.post is not None
    assert [e.path for e in evidence.edits] == ["app.py", "app.toml"]
    assert all(e.before == evidence.base[e.path] and e.after == evidence.post[e.path] for e in evidence.edits)
    assert last.timestamp.isoformat() == "2020-09-14T03:26:40+02:00"
    assert last.metadata["date"] == "2020-09-14"
    assert last.metadata["commit"] == made.git("rev-parse", "HEAD")
    assert last.metadata["start"] == {"commit": made.git("rev-parse", "HEAD~1"), "by": "parent"}


def test_the_request_is_the_message_without_trailers(tmp_path: Path) -> None:
    """And without the number of a pull request."""
    made = make(tmp_path / "r")
    made.commit("Begin", {"v": "v = 0\n"})
    for n in range(1, 5):
        body = f"From {n - 1} to {n},\nas asked.\n\nSigned-off-by: Ada <ada@example.org>\nCo-authored-by: B <b@example.org>"
        made.commit(f"Set v to {n} (#{n + 70})\n\n{body}", {"v": f"v = {n}\n"})
    assert learn(made.path, hold_out=0).traces[0].task_description == "Set v to 1\n\nFrom 0 to 1, as asked."


def test_the_start_keeps_what_has_to_do_with_the_change(tmp_path: Path) -> None:
    """Of hundreds of files: those that are changed, that hold the old value too, that an added one is like, and a few others."""
    made = make(tmp_path / "r")
    other = {f"src/deep/m{n}.py": f"m = {n}\n" for n in range(300)}
    made.commit(
        "Begin", {"v.toml": 'v = "0.4.9"\n', "docs/deep/down/page.md": "since 0.4.9\n", "defs/app-0.4.9": "get\n", **other}
    )
    for n in range(1, 6):
        files = {"v.toml": f'v = "0.5.{n}"\n', f"defs/app-0.5.{n}": "get\n"}
        made.commit(f"Release 0.5.{n}", files)
    first = learn(made.path, hold_out=0).traces[0]
    assert first.workspace is not None
    assert {"v.toml", "docs/deep/down/page.md", "defs/app-0.4.9"} < set(first.workspace)
    assert len(first.workspace) < 30
    assert first.metadata["reduced_from"] == 303


@pytest.mark.parametrize(
    ("conforming", "wanted", "back"),
    [(3, None, 0), (4, None, 1), (9, None, 3), (600, None, 20), (600, 300, 300), (9, 8, 6), (9, 0, 0), (4, 5, 1)],
)
def test_enough_is_left_to_learn_from(conforming: int, wanted: int | None, back: int) -> None:
    """A third is held out, at most twenty, never so much that fewer than three are left."""
    assert held_back(conforming, wanted) == back


def test_a_bystander_with_a_secret_is_not_kept(tmp_path: Path) -> None:
    """Nobody needs it, and taking the secret out would change the start."""
    key = "AKIA" + "JAKUQVHUX4CODDQ7"
    made = released(tmp_path / "r")
    made.commit("Configure", {".travis.yml": f"key: {key}\n", ".ignore": "*.o\n"})
    for n in range(7, 12):
        made.commit(
            f"Release 0.{n}.0", {"app.toml": f'name = "app"\nversion = "0.{n}.0"\n', "app.py": f'__version__ = "0.{n}.0"\n'}
        )
    last = learn(made.path, kind="release").held_out[-1]
    assert last.workspace is not None
    assert ".ignore" in last.workspace
    assert ".travis.yml" not in last.workspace


def test_authors_and_ranges_narrow_it(tmp_path: Path) -> None:
    """Only commits of somebody, only those after a revision; an unknown author or kind says so."""
    made = released(tmp_path / "r")
    made.git("tag", "then", "HEAD~6")
    made.commit("Release 0.7.0", {"app.toml": 'name = "app"\nversion = "0.7.0"\n'}, GIT_AUTHOR_EMAIL="b@b", GIT_AUTHOR_NAME="Bob")
    assert [len(k.found) for k in learn(made.path, since="then", traces=False).kinds if k.name == "release"] == [4]
    assert [len(k.found) for k in learn(made.path, author="ADA", traces=False).kinds if k.name == "release"] == [6]
    with pytest.raises(HistoryError, match="no commit of an author with 'Eve'"):
        learn(made.path, author="Eve")
    with pytest.raises(HistoryError, match="has no kind 'relese'") as e:
        learn(made.path, kind="relese")
    assert "Did you mean release?" in e.value.diagnostics()
