"""The README's output blocks, made by the program: ``--write`` puts them in, without it they are compared.

A block is a fenced ``console`` block; each line that starts with ``$ `` is run by bash in a scratch directory that has the
repository's ``fixtures``, and what it prints on stdout follows. Durations are compared as ``N s``: they are the machine's.
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
MANUAL = ROOT / "docs" / "checks.md"
BLOCK = re.compile(r"(?ms)^```console\n(.*?)^```$")
DURATION = re.compile(r"\d+(?:\.\d+)? m?s\b")


def commands(block: str) -> list[str]:
    """The command lines of a block."""
    return [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]


def environment(scratch: Path) -> Mapping[str, str]:
    """As a user's, with our program first on the path, no colours, and nothing kept outside the scratch directory."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ASSAY_", "GITHUB_"))}
    return {
        **inherited,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "NO_COLOR": "1",
        "COLUMNS": "100",
        "ASSAY_CACHE": str(scratch / "cache"),
    }


def played(text: str) -> str:
    """The README with every block run anew, in order, in one scratch directory."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "work"
        work.mkdir()
        (work / "fixtures").symlink_to(ROOT / "fixtures")
        env = environment(Path(folder))

        def play(match: re.Match[str]) -> str:
            lines: list[str] = []
            for command in commands(match[1]):
                done = subprocess.run(["bash", "-c", command], cwd=work, env=env, capture_output=True, text=True, check=False)
                lines += [f"$ {command}", *(line.rstrip() for line in done.stdout.rstrip("\n").splitlines())]
            return "```console\n" + "\n".join(lines) + "\n```"

        return BLOCK.sub(play, text)


def difference(found: str, made: str) -> str:
    """A unified diff of the two, durations apart; empty where they agree."""
    a, b = (DURATION.sub("N s", text).splitlines() for text in (found, made))
    return "\n".join(difflib.unified_diff(a, b, "README.md", "what the program prints", lineterm=""))


def manual() -> str:
    """The manual page of the checks, made from the checks themselves."""
    from verifiers.manual import render_manual

    return render_manual()


def main() -> int:
    text = README.read_text(encoding="utf-8")
    if "--write" in sys.argv[1:]:
        MANUAL.write_text(manual(), encoding="utf-8")
        README.write_text(played(text), encoding="utf-8")
        return 0
    made = played(text)
    found = difference(text, made)
    sys.stdout.write(found + "\n" if found else "the README is what the program prints\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
