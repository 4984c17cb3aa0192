"""Python text as a tree, in a process with threads.

CPython 3.11 counts the parser's depth for all threads together, and raises SystemError for a sound text where another thread
parses meanwhile (python/cpython issue 106905): then it is asked again.
"""

from __future__ import annotations

import ast

from tenacity import retry, retry_if_exception_type, stop_after_attempt

_again = retry(retry=retry_if_exception_type(SystemError), stop=stop_after_attempt(20), reraise=True)


@_again
def parsed(source: str) -> ast.Module:
    """``ast.parse`` of a module.

    Raises:
        SyntaxError, ValueError, RecursionError: as ``ast.parse``.
    """
    return ast.parse(source)


@_again
def expression(source: str) -> ast.expr:
    """``ast.parse`` of one expression.

    Raises:
        SyntaxError, ValueError, RecursionError: as ``ast.parse``.
    """
    return ast.parse(source, mode="eval").body
