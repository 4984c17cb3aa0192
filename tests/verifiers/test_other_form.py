"""Arguments of traces whose commands have another form: proposed by kind, likeliest first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sandbox.interface import Entry, Snapshot
from verifiers.binding.other_form import MOST_PROPOSALS, proposals, said_and_done
from verifiers.interface import Evidence


def trace(n: int, description: str, command: str, *paths: str) -> Evidence:
    base = Snapshot({p.rstrip("/"): Entry("dir", 0o755) if p.endswith("/") else Entry("file", 0o644, b"x") for p in paths})
    return Evidence(f"t{n}", description, (command,), ("",), None, None, base, base, True)


def test_values_are_of_the_kind_that_the_known_ones_are() -> None:
    """A directory for a directory, a word for a word, a number for a number; what the request says comes first."""
    bound = trace(1, "the sh files of scripts, 2 of them", "head -n 2 scripts/*.sh", "scripts/", "scripts/a.sh")
    known = {"t1": {"root": "scripts", "ext": "sh", "count": 2}}
    other = trace(2, "in src all py, three: 3", "for f in src/*.py; do head -3 $f; done", "src/", "src/b.py", "lib/")
    found = list(proposals(known, [bound], other))
    assert {"root": "src", "ext": "py", "count": 3} in found
    assert all(p["root"] == "src" and p["count"] == 3 for p in found)
    assert len(found) <= MOST_PROPOSALS


def test_nothing_of_the_kind_makes_no_proposal() -> None:
    """No number stands there."""
    bound = trace(1, "2 lines", "head -n 2 a", "a")
    assert list(proposals({"t1": {"count": 2}}, [bound], trace(2, "lines", "cat b", "b"))) == []


def test_many_parameters_end_soon() -> None:
    """Twelve words for twelve parameters are more combinations than anybody can try."""
    words = [f"word{n}" for n in range(12)]
    bound = trace(1, "x", "run " + " ".join(words), "f")
    known = {"t1": {f"p{n}": w for n, w in enumerate(words)}}
    assert len(list(proposals(known, [bound], trace(2, "y", "go " + " ".join(w[::-1] for w in words), "f")))) <= MOST_PROPOSALS


def test_several_words_are_one_value() -> None:
    """Those that request and commands have in common, whatever the form of the commands."""
    bound = trace(
        1, "butter is margarine in recipes", "grep -rl @butter recipes | xargs sed -i 's/@butter{/@margarine{/'", "recipes/"
    )
    known = {"t1": {"old": "butter", "new": "margarine", "folder": "recipes"}}
    other = trace(
        2, "Make spring onions scallions in cook.", "find cook -exec sed -i 's/@spring onions{/@scallions{/' {} +", "cook/"
    )
    assert said_and_done(other) == ["spring onions", "scallions", "cook"]
    assert {"old": "spring onions", "new": "scallions", "folder": "cook"} in list(proposals(known, [bound], other))[:6]


def test_a_value_is_written_as_the_known_ones_are() -> None:
    """A date is looked for where many other words stand before it, and a path that the request names whole but the commands in
    two steps."""
    bound = trace(1, "what of lab/a.json ends before 2027-01-01", "show lab/a.json 2027-01-01", "lab/", "lab/a.json")
    known = {"t1": {"file": "lab/a.json", "until": "2027-01-01"}}
    words = " ".join(f"word{n}" for n in range(20))
    other = trace(2, "before 1 July, in (shop/b.json)", f"cd shop && show {words} 2026-07-01 b.json", "shop/", "shop/b.json", "c")
    assert next(proposals(known, [bound], other)) == {"file": "shop/b.json", "until": "2026-07-01"}


@given(st.lists(st.text("ab1 .,-'/\n", max_size=12), min_size=1, max_size=3).map(" ".join), st.text("ab1 .,-'/\n{", max_size=30))
def test_what_is_said_and_done_stands_in_both(request: str, command: str) -> None:
    for words in said_and_done(trace(1, request, command)):
        assert words in request
        assert words in command
        assert any(c.isalnum() for c in words)
