"""What a file may hold instead, and texts that are nearly what an argument says."""

from __future__ import annotations

import json
import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifiers.worlds.names import beyond
from verifiers.worlds.records import records
from verifiers.worlds.variations.grown import grown
from verifiers.worlds.variations.lines import LESS, REORDERED, TWICE, other_lines
from verifiers.worlds.variations.lookalike_lines import ABOVE, PREFIXED, SUFFIXED, holding, repeated
from verifiers.worlds.variations.near import BEHIND, CASE, near, near_lines
from verifiers.worlds.variations.odd_line import with_line
from verifiers.worlds.variations.said_lines import saying
from verifiers.worlds.variations.spelling import CASES, NUMBERS, respelled

EDITS = (LESS, TWICE, REORDERED, "grown", NUMBERS, CASES)


def edited(content: bytes, way: str, rng: Random, *, named: bool = False, kept: frozenset[str] = frozenset()) -> bytes:
    if way == "grown":
        return grown(content, named=named)
    if way in (NUMBERS, CASES):
        return respelled(content, (way, rng.randrange(2)), rng, kept, named=named)
    return other_lines(content, way, rng, named=named)


@given(st.binary(max_size=60), st.sampled_from(EDITS[:4]), st.integers(0, 99), st.booleans())
def test_editing_keeps_lines_whole(content: bytes, how: str, seed: int, named: bool) -> None:
    """Every edit of a text leaves its last, unfinished line where it is; what is no text stays."""
    out = edited(content, how, Random(seed), named=named)
    least = 1 if how == TWICE or (how == "grown" and not named) else 2
    if b"\0" in content or content.count(b"\n") < least:
        assert out == content
    else:
        assert out.rpartition(b"\n")[2] == content.rpartition(b"\n")[2]


def test_near_misses_are_near_and_no_hits() -> None:
    """Another case, a letter more on either side, two swapped, the mark before it gone; never the word itself as it stands."""
    assert near("a.txt", ["txt"]) == ["a.txtx", "a.xtxt", "a.ttx", "atxt"]
    assert near("a.txt", ["txt"], "case") == ["a.TXT"]
    assert near("bob,41", ["bob"]) == ["bobx,41", "xbob,41", "bbo,41"]
    assert near("bobby", ["bob"]) == []
    lines = near_lines(b"id,state\nk,bob\nx,eve\n", ["bob"], named=True).splitlines()
    assert (lines[0], lines[1], lines[-1]) == (b"id,state", b"k,bob", b"x,eve")
    assert b"k,bobx" in lines
    assert b"k,BOB" in near_lines(b"id,state\nk,bob\nx,eve\n", ["bob"], named=True, way=CASE).splitlines()


def test_near_lines_bring_what_belongs_to_them() -> None:
    """At every depth."""
    content = b"all:\n  bob:\n    age: 1\n\n    ink: 2\n  eve:\n    age: 3\nend\n"
    changed = near_lines(content, ["bob"], named=False).decode()
    block = "  {}:\n    age: 1\n\n    ink: 2\n"
    copies = "".join(block.format(name) for name in ("bob", "bobx", "xbob", "bbo"))
    assert changed == f"all:\n{copies}  eve:\n    age: 3\nend\n"


@given(st.binary(max_size=60), st.lists(st.text("abxAB.", min_size=1, max_size=3), max_size=3), st.booleans())
def test_near_lines_keep_every_line(content: bytes, said: list[str], named: bool) -> None:
    """Lines come in addition, in the order there was."""
    out = iter(near_lines(content, said, named=named).split(b"\n"))
    assert all(any(line == found for found in out) for line in content.split(b"\n"))


@given(st.lists(st.integers(2, 10_000)), st.integers(1, 50))
def test_beyond_is_beyond(numbers: list[int], least: int) -> None:
    """A count above every number in reach, never above the most."""
    out = beyond(numbers, least, 300)
    assert least <= out <= 300
    assert all(n < out for n in numbers if n + n // 8 + 3 <= 300)


def test_words_come_twice_and_lines_of_another_kind_between() -> None:
    """Whole words only; the first and the last line stay; what is no text of lines stays."""
    assert repeated(b"a milk milky\n", ["milk"]) == b"a milk milk milky\n"
    assert repeated(b"{milk},milk\n", ["milk"]) == b"{milk},milk\n"
    assert repeated(b"\xff milk\n", ["milk"]) == b"\xff milk\n"
    assert with_line(b"1\n2\n3\n", b"") == b"1\n2\n\n3\n"
    assert with_line(b'["a",\n"b"]\n', b"w") == b'["a",\n"b"]\n'
    assert with_line(b"id,name\n1,a\n2,b\n", b"w") == b"id,name\n1,a\n2,b\n"
    assert with_line(b"id,name\n1,a\n2,b\n", b"") == b"id,name\n1,a\n\n2,b\n"
    assert with_line(b"id,name\n1\n2,b\n", b"w") == b"id,name\n1\nw\n2,b\n"


def test_nearly_meant_blocks_come_again_behind_all_lines() -> None:
    """What lies between the lines that say a word comes along."""
    out = near_lines(b"# begin web\nold\n# end web\nz\n", ["web"], named=False, way=BEHIND)
    assert out.startswith(b"# begin web\nold\n# end web\nz\n# begin webx\nold\n# end webx\n")
    assert b"# begin xweb\nold\n# end xweb\n" in out
    assert near_lines(b"a\nb\n", ["web"], named=False, way=BEHIND) == b"a\nb\n"


@given(st.binary(), st.lists(st.text(min_size=1), max_size=4))
def test_more_lines_only_follow(content: bytes, lines: list[str]) -> None:
    """What was there stays as it was; a last line without its end gets nothing glued to it."""
    for how in (SUFFIXED, PREFIXED, ABOVE):
        out = holding(content, lines, how)
        assert out.endswith(content) if how == ABOVE else out.startswith(content)
        assert out == content or not content or content.endswith(b"\n")


TICKETS = b'[\n {"id": 1, "state": "open", "rank": 3},\n {"id": 2, "state": "done", "rank": 3}\n]\n'


def test_the_items_of_a_json_list_are_its_lines() -> None:
    """Dropped, in another order, many more of them, or nearly what an argument says; the text stays JSON, laid out as it was."""
    for how, least, most in ((LESS, 1, 1), (REORDERED, 2, 2), ("grown", 42, 300)):
        changed = edited(TICKETS, how, Random(3), named=True)
        assert least <= len(json.loads(changed)) <= most
        assert changed.count(b"\n") > 2
    states = {t["state"] for t in json.loads(near_lines(TICKETS, ["open"], named=True))}
    assert {"open", "done", "openx", "xopen", "opne"} == states
    inside = b'{"n": 1, "items": [1, 2, 3]}'
    assert len(json.loads(edited(inside, LESS, Random(1)))["items"]) == 2


def test_whole_numbers_become_others() -> None:
    """Of other lengths, or equal ones; dates, versions and what arguments and commands mention stay."""
    text = b"a 3 2024-05-01 1.2 k9\nb 30 10:20 7\nc 30 7\n"
    seen = {edited(text, NUMBERS, Random(n), kept=frozenset({"7"})) for n in range(30)}
    assert len(seen) > 5
    for changed in seen:
        assert all(part in changed for part in (b"2024-05-01", b"1.2", b"k9", b"10:20"))
        assert changed.count(b" 7\n") >= 2


def test_words_change_their_case() -> None:
    """Those that nobody means, and of a named file not the first line."""
    text = b"name,state\nada,open\nbo,open\n"
    seen = {edited(text, CASES, Random(n), named=True, kept=frozenset({"open"})) for n in range(30)}
    assert all(changed.startswith(b"name,state\n") and changed.count(b",open") == 2 for changed in seen)
    assert any(b"ADA" in changed for changed in seen)


@given(st.lists(st.sampled_from(["ada", "Bo", "CY"]), min_size=1, max_size=40), st.integers(0, 9))
def test_two_turns_respell_every_word(words: list[str], seed: int) -> None:
    """A key that is looked for in another case is in one of the two."""
    one, other = (respelled(" ".join(words).encode(), (CASES, turn), Random(seed)).decode().split() for turn in (0, 1))
    assert all((a == word) != (b == word) for word, a, b in zip(words, one, other, strict=True))


def test_a_line_says_what_the_text_does_not() -> None:
    """Behind the first one, for a header stays one; nothing where every word is there, and nothing in JSON."""
    assert saying(b"my old here\n", ["new", "old"]) == b"my old here\nmy new here\n"
    assert saying(b"id,word\n1,one\n2,two\n", ["new", "old"]) == b"id,word\n1,new\n1,old\n1,one\n2,two\n"
    assert saying(b"xoldy\n", ["new", "old"]) == b"xoldy\nnew\n"
    long = b"x" * 100_000 + b"\n"
    assert saying(long, ["new"]) == long
    for same in (b"new\nold\n", b'["old",\n1]\n', b"no end", b"", b"\0\n"):
        assert saying(same, ["new", "old"] if same.count(b"\n") > 1 else ["new"]) == same


@given(st.binary(max_size=80) | st.text(max_size=80).map(str.encode), st.sampled_from(EDITS), st.integers(0, 9), st.booleans())
def test_any_content_can_be_edited(content: bytes, how: str, seed: int, named: bool) -> None:
    """Never a crash, and JSON stays JSON."""
    changed = edited(content, how, Random(seed), named=named)
    near_lines(content, ["ab"], named=named)
    assert set(content.split(b"\n")) <= set(saying(content, ["ab"]).split(b"\n"))
    if how in EDITS[:4] and content[:1] == b"[" and _is_json(content):
        assert _is_json(changed)


@given(st.lists(st.sampled_from(["a", "b", "k 1", "foo"]), max_size=9), st.integers(1, 3), st.booleans(), st.integers(0, 9))
def test_records_of_several_lines_stay_whole(lines: list[str], size: int, named: bool, seed: int) -> None:
    """Whatever is dropped, doubled, put in another order or added; what is left over at the end stays there."""
    content = "".join(f"{line}\n" for line in lines).encode()
    found = records(content, size, head=named)
    assert found is not None
    assert found.joined(found.items) == content
    for way in (LESS, TWICE, REORDERED):
        head = int(named and len(lines) > 2)
        rest = (len(lines) - head) % size
        out = other_lines(content, way, Random(seed), named=named, size=size).decode().splitlines()
        assert (out[:head], out[len(out) - rest :]) == (lines[:head], lines[len(lines) - rest :])
        whole = {tuple(lines[n : n + size]) for n in range(head, len(lines) - rest, size)}
        assert {tuple(out[n : n + size]) for n in range(head, len(out) - rest, size)} <= whole


def test_added_records_have_words_of_their_own() -> None:
    """In the first word of each, so that keys stay different."""
    out = grown(b"one\n 1\ntwo\n 2\n", size=2).decode().splitlines()
    assert len(out) >= 80
    assert len(set(out[::2])) == len(out[::2])
    assert set(out[1::2]) == {" 1", " 2"}


def test_what_frames_every_record_stays() -> None:
    """Where every word stands in all records, what parts them is in the line that does."""
    text = b"".join(b"BEGIN IONS\nTITLE=yeast.%d\nEND IONS\n\n" % n for n in range(3))
    out = grown(text).decode().splitlines()
    assert {row for row in out if row and "TITLE" not in row} == {"BEGIN IONS", "END IONS"}
    assert len({row for row in out if "TITLE" in row}) > 40


def test_what_the_commands_say_stays_as_they_say_it() -> None:
    """Another word of the line becomes the record's own, if there is one."""
    out = grown(b"# as is\nhost a(rw,sync)\n", said=["host"], meant=["rw"]).decode()
    assert "(rw,sync" in out
    assert not re.search(r"\(rw[a-z]", out)


def test_what_is_framed_comes_again_as_it_is() -> None:
    """All of it, in its order."""
    out = grown(b"scope\nvar x\nup\n", framing={"up"}).decode().splitlines()
    assert {row.split()[0] for row in out} == {"scope", "var", "up"}
    assert out[:3] == ["scope", "var x", "up"]
    assert len(out) > 40


@pytest.mark.parametrize("way", [LESS, TWICE, REORDERED])
def test_framed_lines_stay(way: str) -> None:
    """Lines between marks that every recording repeats are no records."""
    text = b"scope a\nvar x\nup\nscope b\nvar y\nup\n"
    assert other_lines(text, way, Random(1), framing={"up"}) == text
    assert other_lines(text, way, Random(1)) != text


def _is_json(content: bytes) -> bool:
    try:
        json.loads(content)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("@book{a,\n}\n\n@misc{b,\n}\n", 2),
        ("# Log\n\n## 2\n- x\n\n## 1\n- y\n", 2),
        ("# Log\n\n## 2\n- x\n\nand more\n", 6),
        ("BEGIN:A\nx\nBEGIN:A\ny\n", 2),
        ("#EXTM3U\n#EXTINF:1,a\na.mp3\n#EXTINF:2,b\nb.mp3\n", 2),
        ("- name: a\n  run: b\n- name: c\n  run: d\n", 2),
        ("# one\na\n# two\nb\n", 4),
        ("port = 1\n\nuser = me\nhost = here\n", 4),
        ("[one]\na = 1\n\n[two]\nb = 2\n", 5),
        ("X:\nBO_ 1\n SG_ a\n SG_ b\nBO_ 2\n SG_ c\nend\n", 4),
        ("all:\n  b: 1\nend:\n  c: 2\n", 4),
    ],
)
def test_only_what_begins_alike_is_a_record_of_several_lines(text: str, count: int) -> None:
    """Paragraphs side by side that begin alike, or parts with the same first line or mark: in other texts each line is one."""
    found = records(text.encode())
    assert found is not None
    assert len(found.items) == count
    assert found.joined(found.items) == text.encode()
