"""The guest's code as bytes to be sent over stdin: nothing of ours is in the image, and it is always this version."""

from __future__ import annotations

import functools
import zlib
from pathlib import Path

GUEST = Path(__file__).parent / "guest"

BOOT = (
    "import os,sys,zlib\n"
    "def r(n):\n"
    "    b=b''\n"
    "    while len(b)<n:\n"
    "        c=os.read(%d,n-len(b))\n"
    "        if not c: sys.exit(3)\n"
    "        b+=c\n"
    "    return b\n"
    "p=r(int.from_bytes(r(4),'big'))\n"
    "exec(zlib.decompress(p))\n"
)
"""Program of PID 1 and of each warm parent, with the descriptor to read from left open."""

_START = """
install(SOURCES)
if sys.argv[1:]:
    from sandbox.guest.warm import main
    main()
from sandbox.guest.runner import main
main(BOOT, p)
"""


@functools.cache
def payload() -> bytes:
    """The compressed program: the loader, every guest module, and the call of the right one."""
    sources = {"sandbox.": "", "sandbox.guest.": ""}
    for path in sorted(GUEST.glob("*.py")):
        name = path.stem if path.stem == "skill_api" else f"sandbox.guest.{path.stem}"
        if path.stem not in ("loader", "__init__"):
            sources[name] = path.read_text("utf-8")
    loader = (GUEST / "loader.py").read_text("utf-8")
    program = f"{loader}\nSOURCES = {sources!r}\nBOOT = {BOOT!r}\n{_START}"
    return zlib.compress(program.encode("utf-8"), 9)


def opening() -> bytes:
    """What PID 1 reads first: the payload with its length before it."""
    return len(payload()).to_bytes(4, "big") + payload()
