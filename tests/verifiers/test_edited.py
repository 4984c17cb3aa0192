"""Arguments of recordings without commands, read where other recordings have theirs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.interface import Entry, JsonValue
from verifiers.binding.edited import MOST_PROPOSALS, proposals
from verifiers.interface import Args, Edit, Evidence

digests = st.lists(st.from_regex(r"[0-9a-f]{8}", fullmatch=True), min_size=6, max_size=6, unique=True)


def edit(path: str, before: str | None, after: str | None) -> Edit:
    old, new = (Entry("file", 0o644, text.encode()) if text is not None else None for text in (before, after))
    return Edit(0, path, old, new)


def recording(n: int, request: str, *edits: Edit) -> Evidence:
    return Evidence(f"t{n}", request, (), (), None, None, None, None, True, edits=edits)


def read(known: list[tuple[Evidence, Args]], asked: Evidence) -> list[Args]:
    return list(proposals({e.task_id: args for e, args in known}, [e for e, _ in known], asked))


def pin(n: int, action: str, old: str, new: str) -> Evidence:
    lines = [f"  uses: {action}@{commit} # v{n}\n" for commit in (old, new)]
    return recording(n, f"Bump {action} (/compare/{old}...{new})", edit("ci.yml", *lines))


@given(digests)
def test_a_value_of_the_request_is_read_by_what_touches_it(some: list[str]) -> None:
    """Each action has a name of its own, so neither the line nor the words beside it are the same."""
    known: list[tuple[Evidence, Args]] = [
        (pin(n, f"make/{name}", some[2 * n], some[2 * n + 1]), {"old": some[2 * n], "new": some[2 * n + 1]})
        for n, name in enumerate(("build", "test"))
    ]
    assert read(known, pin(9, "other/lint", some[4], some[5]))[0] == {"old": some[4], "new": some[5]}


@given(digests)
def test_what_no_request_tells_is_read_in_what_was_put_in_and_taken_out(some: list[str]) -> None:
    """A digest that comes and one that goes, in a request that names neither."""

    def moved(n: int, old: str, new: str) -> Evidence:
        return recording(n, f"Update {n}", edit("f", f"sha: {old}\nkept\n", f"sha: {new}\nkept\n"))

    known: list[tuple[Evidence, Args]] = [
        (moved(n, *some[2 * n : 2 * n + 2]), {"old": some[2 * n], "new": some[2 * n + 1]}) for n in range(2)
    ]
    assert read(known, moved(9, *some[4:]))[0] == {"old": some[4], "new": some[5]}


@pytest.mark.parametrize("prose", ["one line", "- two\n- lines", "a gap\n\nand `more`"])
def test_prose_of_many_lines_is_read_as_a_block(prose: str) -> None:
    """Between a heading, which has its own values and a line drawn under it, and the blank line at its end."""

    def changelog(n: int, version: str, text: str) -> Evidence:
        heading = f"{version} - 2020-01-0{n + 1}\n{'=' * (len(version) + 13)}\n\n"
        return recording(n, f"v{version}", edit("CHANGES.md", "old\n", f"{heading}{text}\n\nold\n"))

    known: list[tuple[Evidence, Args]] = [
        (changelog(n, version, text), {"version": version, "text": text})
        for n, (version, text) in enumerate((("1.0", "- a\n- b"), ("1.10.0", "- c\n\n- d\n- e")))
    ]
    assert {"version": "2.0", "text": prose} in read(known, changelog(8, "2.0", prose))


def test_a_name_is_read_from_the_path_of_a_new_file() -> None:
    """Even where nothing within the file and no request has it."""

    def added(n: int, name: str) -> Evidence:
        return recording(n, "Add one", edit(f"data/{name}.txt", None, "same\n"))

    known: list[tuple[Evidence, Args]] = [(added(n, name), {"name": name}) for n, name in enumerate(("ann", "bob"))]
    assert read(known, added(9, "cyd")) == [{"name": "cyd"}]


@pytest.mark.parametrize(
    ("values", "wanted"),
    [((1, 2), 7), ((1.5, 2.5), 7.5), ((["1"], ["2"]), ["7"]), ((True, True), True), ((None, None), None)],
)
def test_types_are_kept(values: tuple[JsonValue, JsonValue], wanted: JsonValue) -> None:
    """What was the same everywhere and stands in no text stays as it is."""

    def counted(n: int, value: JsonValue) -> Evidence:
        text = value[0] if isinstance(value, list) else value
        return recording(n, f"set it to {text} now", edit("f", "a\n", "b\n"))

    known: list[tuple[Evidence, Args]] = [(counted(n, value), {"value": value}) for n, value in enumerate(values)]
    got = read(known, counted(9, wanted))
    assert got[0] == {"value": wanted}
    assert type(got[0]["value"]) is type(wanted)


def test_whole_lines_are_told_by_their_block() -> None:
    """Nothing stands beside such a value, and other lines stand beside it: all of them are proposed, in order."""

    def needs(n: int, line: str) -> Evidence:
        return recording(n, f"Add {n}", edit(f"v{n}", None, f"{line}\ninstall v{n} here\n"))

    known: list[tuple[Evidence, Args]] = [(needs(n, line), {"line": line}) for n, line in enumerate(("java", "java 8"))]
    assert {"line": "ruby 3"} in read(known, needs(9, "ruby 3"))


def test_a_flag_that_varied_is_not_guessed() -> None:
    """Nothing in a text says which."""
    known: list[tuple[Evidence, Args]] = [(recording(n, "go", edit("f", "a\n", "b\n")), {"flag": n == 0}) for n in range(2)]
    assert read(known, recording(9, "go", edit("f", "a\n", "b\n"))) == []


texts = st.text(st.characters(codec="utf-8"), max_size=40)


@given(st.lists(st.tuples(texts, texts, texts, texts), min_size=2, max_size=3))
def test_any_texts_end_and_give_the_names_that_they_were_given(rows: list[tuple[str, str, str, str]]) -> None:
    """Foreign histories never crash it."""
    known: list[tuple[Evidence, Args]] = [
        (recording(n, request, edit("f", old, new)), {"value": value}) for n, (request, old, new, value) in enumerate(rows)
    ]
    got = read(known[1:], known[0][0])
    assert len(got) <= MOST_PROPOSALS
    assert all(args.keys() == {"value"} for args in got)
