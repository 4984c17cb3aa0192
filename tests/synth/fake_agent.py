"""A program that behaves as an agent's client does: it reads its request, acts where it is, and says what that cost."""

from __future__ import annotations

import json
import sys
from pathlib import Path

CODE = """#!{python}
import json, os, subprocess, sys, time
from pathlib import Path
if "--version" in sys.argv:
    print("9.9.9 (fake)")
    sys.exit()
plan = json.loads(Path({plan!r}).read_text())
skilled = any(Path.home().glob("*/skills/*"))
request = sys.stdin.read() or sys.argv[-1]
seen = {{"argv": sys.argv[1:], "env": dict(os.environ), "request": request, "skilled": skilled, "cwd": os.getcwd()}}
seen["home"] = sorted(str(p.relative_to(Path.home())) for p in Path.home().rglob("*") if p.is_file())
with Path({seen!r}).open("a") as out:
    out.write(json.dumps(seen) + chr(10))
act = plan["with" if skilled else "without"]
subprocess.run(["bash", "-c", act.get("does", "")], env={{**os.environ, "REQUEST": request}}, check=True)
time.sleep(act.get("sleeps", 0))
print(act.get("warns", ""), file=sys.stderr)
print(json.dumps(act["says"]) if not isinstance(act["says"], str) else act["says"])
sys.exit(act.get("code", 0))
"""

RENAMES = r"""
set -- $(grep -oE '\.[a-z]+' <<<"$REQUEST"); for f in *$1; do mv "$f" "${f%$1}$2"; done
"""
"""The request of ``factories.trace``, done."""


def said(
    turns: int = 2, output: int = 10, usd: float | None = 0.01, result: str = "done", error: bool = False
) -> dict[str, object]:
    """What Claude Code prints of a run."""
    used = {"inputTokens": 5, "outputTokens": output, "cacheReadInputTokens": 80, "cacheCreationInputTokens": 5}
    return {
        "type": "result", "subtype": "success", "is_error": error, "num_turns": turns, "result": result,
        "total_cost_usd": usd, "modelUsage": {"m": used} if output else {},
    }  # fmt: skip


class FakeAgent:
    """One in a directory of its own, for ``PATH``.

    Args:
        plan: ``with`` and ``without`` skills: what it does (shell), says, warns of, its exit code, how long it sleeps.
    """

    def __init__(self, folder: Path, program: str, **plan: object) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        self.program = self.bin / program
        (folder / "plan.json").write_text(json.dumps({way.rstrip("_"): act for way, act in plan.items()}))
        self._seen = folder / "seen.jsonl"
        paths = {"plan": str(folder / "plan.json"), "seen": str(self._seen)}
        self.program.write_text(CODE.format(python=sys.executable, **paths))
        self.program.chmod(0o755)

    @property
    def seen(self) -> list[dict[str, object]]:
        """What each run was given, in order."""
        return [json.loads(line) for line in self._seen.read_text().splitlines()] if self._seen.is_file() else []
