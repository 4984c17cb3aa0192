"""What the records of a text are: lines, or parts that begin or end alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifiers.worlds.records import decoded, records

ROBOTS = (
    "# ask web@ first\n\nUser-agent: *\nDisallow: /a\n\nUser-agent: Googlebot\nDisallow: /b\n\nSitemap: https://x.example/s.xml\n"
)
BLOCKS = "/var/log/a.log {\n    weekly\n    rotate 4\n}\n/var/log/b.log {\n    daily\n}\n"
FLAT = "ID   A1\nDE   first\n//\nID   B2\nDE   second\nDE   more\n//\n"
CLIPPINGS = "Emma (Jane Austen)\n- Highlight\n\nIf I loved you less\n==========\nDune\n- Note\n\nfear\n==========\n"
CARDS = "BEGIN:VCARD\nFN:A\nEND:VCARD\nBEGIN:VCARD\nFN:B\nEND:VCARD\n"
BOOK = "# abook\n\n[format]\nversion=1\n\n\n[0]\nname=Sam\n\n[1]\nname=Ida\nemail=i@x\n"
KEYS = "host=a\nport=1\n\n[web]\nroot=/srv\n"


@pytest.mark.parametrize(
    ("text", "items"),
    [
        (ROBOTS, ["User-agent: *\nDisallow: /a\n", "User-agent: Googlebot\nDisallow: /b\n"]),
        (BLOCKS, ["/var/log/a.log {\n    weekly\n    rotate 4\n}\n", "/var/log/b.log {\n    daily\n}\n"]),
        (FLAT, ["ID   A1\nDE   first\n//\n", "ID   B2\nDE   second\nDE   more\n//\n"]),
        (
            CLIPPINGS,
            ["Emma (Jane Austen)\n- Highlight\n\nIf I loved you less\n==========\n", "Dune\n- Note\n\nfear\n==========\n"],
        ),
        (CARDS, ["BEGIN:VCARD\nFN:A\nEND:VCARD\n", "BEGIN:VCARD\nFN:B\nEND:VCARD\n"]),
        (BOOK, ["[0]\nname=Sam\n", "[1]\nname=Ida\nemail=i@x\n"]),
        ("# T\n```\nx\n```\n", ["# T\n", "```\n", "x\n", "```\n"]),
        (KEYS, ["host=a\n", "port=1\n", "\n", "[web]\n", "root=/srv\n"]),
    ],
)
def test_parts_that_begin_or_end_alike_are_the_records(text: str, items: list[str]) -> None:
    found = records(text.encode())
    assert found is not None
    assert found.items == items
    assert decoded(found.joined(items)) == text


def test_what_stands_around_the_records_stays() -> None:
    found = records(ROBOTS.encode())
    assert found is not None
    assert decoded(found.joined(found.items[::-1])) == (
        "# ask web@ first\n\nUser-agent: Googlebot\nDisallow: /b\n\nUser-agent: *\nDisallow: /a\n\nSitemap: https://x.example/s.xml\n"
    )


LINES = st.sampled_from(["a: 1", "b: 2", "", "//", "---", "[x]", "  c", "#", "@y", "}"])


@given(rows=st.lists(LINES, max_size=14), head=st.booleans())
def test_a_text_is_put_together_again_from_its_records(rows: list[str], *, head: bool) -> None:
    text = "".join(f"{row}\n" for row in rows)
    found = records(text.encode(), head=head)
    assert found is None or decoded(found.joined(found.items)) == text
