"""The parser under threads: a sound text has a tree, whoever else parses."""

from __future__ import annotations

import ast
from concurrent.futures import ThreadPoolExecutor

import pytest

from verifiers.source import parsing


def test_a_parser_that_was_disturbed_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """CPython's own complaint, twice, then the tree; a text that is none is refused at once."""
    complaints = iter([SystemError("AST constructor recursion depth mismatch (before=54, after=38)")] * 2)
    plain = ast.parse
    asked = []

    def disturbed(source: str, mode: str = "exec") -> ast.AST:
        asked.append(source)
        if (complaint := next(complaints, None)) is not None:
            raise complaint
        return plain(source, mode=mode)

    monkeypatch.setattr(ast, "parse", disturbed)
    assert ast.dump(parsing.parsed("a = 1")) == ast.dump(plain("a = 1"))
    assert len(asked) == 3
    with pytest.raises(SyntaxError):
        parsing.expression("a =")
    assert len(asked) == 4


def test_many_threads_parse_at_once() -> None:
    """Deep and wide texts in eight threads."""
    texts = [f"x = {'(' * (5 + k % 40)}1{')' * (5 + k % 40)}\n" * 200 for k in range(64)]
    with ThreadPoolExecutor(8) as pool:
        assert [len(tree.body) for tree in pool.map(parsing.parsed, texts)] == [200] * len(texts)
