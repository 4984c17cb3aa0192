"""Whether control can run off the end of a suite. Says no when in doubt."""

from __future__ import annotations

import libcst as cst


def always_leaves(suite: cst.BaseSuite) -> bool:
    """Whether every way through the suite ends in ``return`` or ``raise``."""
    body = suite.body
    return bool(body) and _leaves(body[-1])


def _leaves(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.SimpleStatementLine | cst.SimpleStatementSuite):
        return bool(node.body) and _leaves(node.body[-1])
    if isinstance(node, cst.Return | cst.Raise):
        return True
    if isinstance(node, cst.If):
        return always_leaves(node.body) and node.orelse is not None and _leaves(node.orelse)
    if isinstance(node, cst.Else):
        return always_leaves(node.body)
    if isinstance(node, cst.Try | cst.TryStar):
        if node.finalbody is not None and always_leaves(node.finalbody.body):
            return True
        end = _leaves(node.orelse) if node.orelse is not None else always_leaves(node.body)
        return end and all(always_leaves(h.body) for h in node.handlers)
    return False
