"""Commands as templates: a value is found however it is written."""

from __future__ import annotations

import pytest

from verifiers.shell.characters import meaning
from verifiers.worlds.template import templates

ESCAPED = [
    (
        r"sed -i '/^v 1\.2$/s/1\.2/1.3/' f",
        {"old": "1.2", "new": "1.3"},
        {"old": "x.y", "new": "+"},
        "sed -i '/^v x[.]y$/s/x[.]y/+/' f",
    ),
    (r"sed -i 's/a b/out\/x/' f", {"to": "out/x"}, {"to": "y/z"}, r"sed -i 's/a b/y\/z/' f"),
    (r"""sed -i "s/key/\&co/" f""", {"to": "&co"}, {"to": "p&q"}, r'sed -i "s/key/p\&q/" f'),
]


@pytest.mark.parametrize(("command", "args", "others", "filled"), ESCAPED)
def test_a_value_with_backslashes_is_that_value(command: str, args: dict[str, str], others: dict[str, str], filled: str) -> None:
    """Another one is written as carefully, the recorded one as it was."""
    (template,) = templates([((command,), args)])
    assert template.parameters == frozenset(args)
    assert template.fill(args) == (command,)
    assert [meaning(c) for c in template.fill(others)] == [meaning(filled)]


def test_recordings_that_escape_and_those_that_need_not_are_of_one_shape() -> None:
    """The careful one says how the others are meant."""
    first, second = templates([((r"grep '^1\.2$' a",), {"v": "1.2"}), (("grep '^main$' a",), {"v": "main"})])
    assert [h.escaped for h in (*first.holes, *second.holes)] == [".", "."]
    assert second.fill({"v": "a.b"}) == ("grep '^a[.]b$' a",)
