"""The page that keeps what the studies measured: a section for each part, with its command, its day and the load there was."""

from __future__ import annotations

import os
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path

from figures import Part

NAME = "study.md"
PICTURE = "calibration.png"
HEAD = """# What the studies measured

Written by the programs of `tests/study` (`python3 -m nox -s study`), a section each; not edited by hand. The figures
are those of one machine at the load that is given with them."""


def keep(folder: Path, part: Part, seconds: float) -> None:
    """Puts a part's section in place of its earlier one; other sections stay."""
    file = folder / NAME
    old = sections(file.read_text("utf-8")) if file.exists() else {}
    file.write_text(page({**old, part.title: section(part, seconds)}), encoding="utf-8")


def section(part: Part, seconds: float) -> str:
    """The text below a part's title."""
    program = Path(sys.argv[0]).name  # of a directory that is run, the directory or its __main__.py
    words = ["" if program in (Path(__file__).parent.name, "__main__.py") else program, *sys.argv[1:]]
    command = shlex.join(["python", f"tests/study/{words[0]}".rstrip("/"), *words[1:]])
    made = f"`{command}`, {datetime.now(UTC).date().isoformat()}, {seconds / 60:.0f} minutes on {os.cpu_count()} cores"
    load = f"load average {os.getloadavg()[2]:.1f}"
    missed = "".join(f"\n\n**Missed:** {m}" for m in part.missed)
    return f"{made}, {load}.\n\n{part.text.strip()}{missed}"


def sections(text: str) -> dict[str, str]:
    """The sections of a page, by title, in order."""
    parts = text.split("\n## ")[1:]
    return {title.strip(): body.strip() for title, _, body in (p.partition("\n") for p in parts)}


def page(found: dict[str, str]) -> str:
    return "\n\n".join([HEAD, *[f"## {title}\n\n{body}" for title, body in found.items()]]) + "\n"
