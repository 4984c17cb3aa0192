"""Exit codes (docs/design.md, "Exit codes"), the API that scripts rely on."""

from __future__ import annotations

from verifiers.interface import Verdict

PASS = 0
FAIL = 1
USAGE = 2
INCONCLUSIVE = 3
NOTHING = 4


def exit_code(verdict: Verdict) -> int:
    """0 for PASS, 1 for FAIL, 3 for INCONCLUSIVE."""
    return {Verdict.PASS: PASS, Verdict.FAIL: FAIL, Verdict.INCONCLUSIVE: INCONCLUSIVE}[verdict]
