"""What a warm parent for skills loads before it forks. Guest side."""

from __future__ import annotations

import contextlib
import gc
import importlib
import sys
import types

from sandbox.guest import job

MODULES = (
    "ast asyncio asyncio.subprocess base64 binascii bisect collections contextlib copy csv dataclasses datetime enum errno "
    "fcntl filecmp fnmatch functools glob gzip hashlib heapq io itertools json locale math operator os pathlib pwd random re "
    "secrets shlex shutil signal stat string struct subprocess tarfile tempfile textwrap threading time traceback types "
    "typing unicodedata zipfile zlib skill_api"
)
"""What skills use most. Every further library makes each fork dearer, also for those that do not use it."""


def everything() -> None:
    """Imports what there is; a smaller image has less, and the skill that needs it will say so."""
    sys.modules["ssl"] = None  # type: ignore[assignment]  # refuses the import: asyncio does without, and it is large
    for name in MODULES.split():
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    del sys.modules["ssl"]
    _omni_aliases()
    job.rehearse()
    job.OURS += [n for n in sys.modules if n == "sandbox" or n.startswith("sandbox.")]
    gc.collect()
    gc.freeze()


def _omni_aliases() -> None:
    """The import path that Omni's own skills use, leading to the same decorator."""
    api = importlib.import_module("skill_api")
    for name in ("omni", "omni.foundation", "omni.foundation.api", "omni.foundation.api.decorators"):
        module = types.ModuleType(name)
        module.__path__ = []
        sys.modules[name] = module
    for name in ("omni.foundation.api", "omni.foundation.api.decorators"):
        sys.modules[name].skill_command = api.skill_command  # type: ignore[attr-defined]  # a module made just above
