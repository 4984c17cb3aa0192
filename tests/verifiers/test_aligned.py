"""Arguments of a new trace, read where bound traces have theirs."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.interface import Entry, JsonValue
from verifiers.binding.aligned import align, aligned
from verifiers.interface import Args, Edit, Evidence

names = st.from_regex(r"[a-z][a-z0-9]{1,7}", fullmatch=True)
anything = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)


def trace(n: int, *commands: str, description: str = "") -> Evidence:
    return Evidence(f"t{n}", description, commands, ("",) * len(commands), None, None, None, None, True)


def read(known: list[tuple[str, Args]], command: str) -> Args | None:
    bound = [trace(n, c) for n, (c, _) in enumerate(known)]
    return align({f"t{n}": args for n, (_, args) in enumerate(known)}, bound, trace(99, command))


def test_parts_of_a_word() -> None:
    """A prefix that no grammar cuts, and a width that a zero stands before."""
    known: list[tuple[str, Args]] = [
        ('mkdir $(seq -f "course/week%02g" 5)', {"prefix": "course/week", "width": 2, "count": 5}),
        ('mkdir $(seq -f "runs/exp%01g" 4)', {"prefix": "runs/exp", "width": 1, "count": 4}),
    ]
    got = read(known, 'mkdir $(seq -f "Labs/lab4a/folder%03g" 3)')
    assert got == {"prefix": "Labs/lab4a/folder", "width": 3, "count": 3}


def test_what_only_looks_around_is_passed_over() -> None:
    """What goes to a device takes no file's place."""
    known: list[tuple[str, Args]] = [("sed s/x/A/ a.in > a.out", {"source": "a.in", "target": "a.out", "value": "A"})]
    got = read(known, "echo hello > /dev/null; sed s/x/Bo/ b.in > b.txt")
    assert got == {"source": "b.in", "target": "b.txt", "value": "Bo"}


def test_a_value_that_stands_in_two_places_must_agree() -> None:
    """Two places with two values: nothing is said."""
    known: list[tuple[str, Args]] = [("cp a.txt b; rm a.txt", {"file": "a.txt"})]
    assert read(known, "cp c.txt b; rm c.txt") == {"file": "c.txt"}
    assert read(known, "cp c.txt b; rm d.txt") is None


@pytest.mark.parametrize("command", ["", "ls", "mv 'unclosed", "mkdir x y z", "seq -f %s"])
def test_another_form_says_nothing(command: str) -> None:
    """The old way of guessing is asked then."""
    assert read([("chmod 644 a.txt", {"mode": "644", "file": "a.txt"})], command) is None


def test_a_coincidence_in_one_trace_is_no_place() -> None:
    """The 2 of ``part2`` is the width in one trace only."""
    known: list[tuple[str, Args]] = [
        ("split -a 2 part2.txt", {"digits": 2, "file": "part2.txt"}),
        ("split -a 3 all.txt", {"digits": 3, "file": "all.txt"}),
    ]
    assert read(known, "split -a 4 part9.txt") == {"digits": 4, "file": "part9.txt"}


@pytest.mark.parametrize("value", [["a", "b"], {"a": 1}])
def test_lists_and_objects_align_nothing(value: JsonValue) -> None:
    """They have no one place."""
    assert read([("touch a b", {"names": value})], "touch c d") is None


def test_types_are_kept() -> None:
    """Numbers come back as numbers, flags and None as they are."""
    args: Args = {"lines": 5, "rate": 0.5, "all": True, "more": None, "f": "log"}
    known = [("head -n 5 log; tail -n 0.5 log", args)]
    got = read(known, "head -n 12 sys; tail -n 1.25 sys")
    assert got == {"lines": 12, "rate": 1.25, "all": True, "more": None, "f": "sys"}
    assert isinstance(got["lines"], int)


def test_many_values_in_one_word_take_no_time() -> None:
    """A word with more holes than can be matched quickly says nothing; each value's own word does."""
    values = {f"p{n}": f"v{n}x" for n in range(12)}
    words = " ".join(values.values())
    known: list[tuple[str, Args]] = [(f"echo '{words}'; tool {words}", values)]
    others = words.replace("x", "y")
    assert read(known, f"echo '{'a ' * 140}'; tool {others}") == {name: v.replace("x", "y") for name, v in values.items()}


def test_all_traces_or_none() -> None:
    """One that cannot be read leaves the whole set to the other way."""
    bound = trace(0, "rm a.tmp")
    assert aligned({"t0": {"ext": "tmp"}}, [bound, trace(1, "rm a.bak")]) == {"t0": {"ext": "tmp"}, "t1": {"ext": "bak"}}
    assert aligned({"t0": {"ext": "tmp"}}, [bound, trace(1, "find . -delete")]) is None


@given(old=st.tuples(names, names), new=st.tuples(names, names))
def test_what_is_written_in_the_same_place_is_read(old: tuple[str, str], new: tuple[str, str]) -> None:
    """Round trip through one command, where the values differ from each other and from its fixed words."""
    fixed = {"for", "in", "do", "done", "mv", "f"}
    if len({*old, *new} | fixed) < 4 + len(fixed) or any(a in b for a in old for b in old if a != b):
        return

    def command(a: str, b: str) -> str:
        return f'for f in *.{a}; do mv "$f" "${{f%.{a}}}.{b}"; done'

    got = read([(command(*old), {"old": old[0], "new": old[1]})], command(*new))
    assert got == {"old": new[0], "new": new[1]}


@given(commands=st.lists(st.text(max_size=60), max_size=3), args=st.dictionaries(names, anything | st.integers(), max_size=3))
def test_any_text_is_read_or_refused(commands: list[str], args: Args) -> None:
    """Foreign commands never crash it, and what it gives has the names and types that it was given."""
    written = trace(0, *[" ".join(["tool", *(shlex.quote(str(v)) for v in args.values())])])
    got = align({"t0": args}, [written], trace(1, *commands))
    assert got is None or {n: type(v) for n, v in got.items()} == {n: type(v) for n, v in args.items()}


@given(args=st.dictionaries(names, anything | st.integers(0, 99), min_size=1, max_size=3))
def test_a_trace_is_read_as_itself_or_not_at_all(args: Args) -> None:
    """The same commands again never give other values."""
    written = trace(0, " ".join(["tool", *(shlex.quote(str(v)) for v in args.values())]))
    got = align({"t0": args}, [written], written)
    assert got is None or got == args


def written(n: int, request: str, before: str, after: str) -> Evidence:
    files = [Entry("file", 0o644, text.encode()) for text in (before, after)]
    return Evidence(f"t{n}", request, (), (), None, None, None, None, True, edits=(Edit(0, "f", files[0], files[1]),))


def commit(n: int, version: str, *digests: str) -> Evidence:
    after = f"v {version}\nkept\n" + "".join(f'sha "{d}"\n' for d in digests)
    return written(n, f"Release {version}", "v 0\nkept\nsha\nsha\n", after)


@given(st.lists(st.from_regex(r"[0-9a-f]{8}", fullmatch=True), min_size=6, max_size=6, unique=True))
def test_what_no_request_tells_is_read_where_it_was_written(digests: list[str]) -> None:
    """One in each line, in the order of the lines, as many as there are."""
    bound = [commit(n, f"1.{n}", *digests[2 * n : 2 * n + 2]) for n in range(2)]
    known: dict[str, Args] = {f"t{n}": {"version": f"1.{n}", "digests": digests[2 * n : 2 * n + 2]} for n in range(2)}
    assert align(known, bound, commit(9, "2.0", *digests[4:])) == {"version": "2.0", "digests": digests[4:]}
    assert align(known, bound, commit(9, "2.0", digests[4])) == {"version": "2.0", "digests": digests[4:5]}
