"""What the files of a start call a value."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.snapshot import Entry, Snapshot
from synth.embedded.labels import label


def start(text: str, path: str = "data/notes.txt") -> Snapshot:
    return Snapshot({path: Entry("file", content=text.encode("utf-8"))})


@pytest.mark.parametrize(
    ("text", "value", "word"),
    [
        ("day,shop,category,amount\n1,Rema,Food,3\n2,Coop,Travel,4\n", "Travel", "category"),
        ("id;Vor Name;plz\n1;Ada;10\n2;Emil;20\n", "Emil", "vor_name"),
        ('sku\tprice\n"a"\t3\nb\t4\n', "price", "column"),
        ('[{"assignee": "kim", "state": "open"}]', "kim", "assignee"),
        ("image: acme/shop\nport: 80\n", "acme/shop", "image"),
        ("[database]\n# where it is\nhost = db1\n[paths]\ndata = /x\n", "paths", "section"),
        ("[database]\nhost = db1\n", "host", "key"),
        ("<book><title>Mai</title></book>", "Mai", "title"),
    ],
)
def test_a_file_says_what_a_value_is(text: str, value: str, word: str) -> None:
    assert label([value, value], [start(text), start(text)]) == word


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Ask kim about it.\n", "kim"),
        ("a,b\n1,2,3\n4\n", "2"),  # no table
        ("port: 8080\n", "80"),  # a part of another value
        ("value = kim\n", "kim"),  # a word for anything
        ("[paths]\n", "paths"),  # a mark with nothing beneath
        ("a,b\n1,\x00kim\n2,kim\n", "kim"),
        (f"a,b\n1,{'x' * 140_000}\n2,kim\n", "kim"),  # more than a cell may hold
    ],
)
def test_a_text_that_says_nothing_gives_no_word(text: str, value: str) -> None:
    assert label([value, value], [start(text), start(text)]) == ""


def test_most_starts_have_to_agree() -> None:
    one, other, third = start("owner: kim\n"), start("user: kim\n"), start("owner: uwe\n")
    assert label(["kim", "kim", "uwe"], [one, other, third]) == "owner"
    assert label(["kim", "kim"], [one, other]) == ""
    assert label(["kim"], [one]) == "owner"
    assert label(["kim"], [start("owner: kim\nuser: kim\n")]) == ""
    assert label(["kim", "uwe"], [None, third]) == ""


def test_git_says_which_names_are_branches_and_tags() -> None:
    repository = Snapshot({f"app/.git/refs/heads/{n}": Entry("file", content=b"0" * 40) for n in ("main", "next")})
    assert label(["main", "next"], [repository, repository]) == "branch"


@given(st.text(max_size=60), st.text(min_size=1, max_size=8))
def test_whatever_stands_in_a_file_the_word_is_a_plain_one(text: str, value: str) -> None:
    found = start(text.encode("utf-8", "ignore").decode("utf-8"))
    assert re.fullmatch(r"|[a-z][a-z_]*[a-z]", label([value], [found]))
