"""Docstrings in the three styles, and everything else that stands in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifiers.source.docstring import parse_docstring

GOOGLE = """Rename files
of a directory.

More words.

Args:
    old_ext: Extension to replace,
        without the dot.
    new_ext (str): New extension.

Returns:
    count: how many.

Raises:
    OSError: never.
"""

BULLETS = """
    Crawl a page.

    Modes:
    - smart: plans

    Args:
        - url: str - Target (required)
        - depth: int = 0 - How deep (0 = here)
        - `tags` (list): which

    Returns:
        - saved: dict
"""

SPHINX = """Do it.

:param str old: what
    was there
:param new: what comes
:returns: nothing
"""


def test_google() -> None:
    """Entries may go on in the next line; a Returns entry is no parameter."""
    doc = parse_docstring(GOOGLE)
    assert doc.summary == "Rename files of a directory."
    assert doc.sections == {"Args", "Returns", "Raises"}
    assert doc.notes == {"old_ext": "Extension to replace, without the dot.", "new_ext": "New extension."}


def test_bullets() -> None:
    """The text follows the last dash; bullets elsewhere are known, but not listed."""
    doc = parse_docstring(BULLETS)
    assert doc.listed == {"url", "depth", "tags"}
    assert {n: doc.notes[n] for n in doc.listed} == {"url": "Target (required)", "depth": "How deep (0 = here)", "tags": "which"}
    assert doc.notes["smart"] == "plans"


def test_sphinx() -> None:
    """Field lists count as Args and Returns."""
    doc = parse_docstring(SPHINX)
    assert doc.sections == {"Args", "Returns"}
    assert doc.notes == {"old": "what", "new": "what comes"}


@pytest.mark.parametrize("text", ["", "\n\n", "Args:", "Args:\n", "- :", "Returns: x"])
def test_little_text(text: str) -> None:
    """Next to nothing is next to nothing."""
    doc = parse_docstring(text)
    assert (doc.summary in ("", "- :"), doc.notes) == (True, {})


def test_merged() -> None:
    """The first speaks where both do."""
    second = parse_docstring("Two.\n\n- a: second\n- b: other\n\nReturns:\n    x")
    both = parse_docstring("One.\n\nArgs:\n    a: first").merged(second)
    assert (both.summary, both.notes, both.sections) == ("One.", {"a": "first", "b": "other"}, {"Args", "Returns"})


@given(st.text(alphabet="ab:-()` \n\t*Args:Returns", max_size=200))
def test_any_text_is_read(text: str) -> None:
    """Nothing raises; names are identifiers; what is listed is noted."""
    doc = parse_docstring(text)
    assert doc.listed <= doc.notes.keys()
    assert all(name.isidentifier() for name in doc.notes)
