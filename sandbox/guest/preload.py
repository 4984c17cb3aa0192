"""What a warm parent for skills loads before it forks. Guest side."""

from __future__ import annotations

import gc
import importlib
import sys
import types

from sandbox.guest import job

MODULES = (
    "argparse ast asyncio base64 binascii bisect bz2 calendar collections configparser contextlib copy csv dataclasses "
    "datetime decimal difflib enum errno fcntl filecmp fileinput fnmatch fractions functools getpass glob grp gzip hashlib "
    "heapq html io itertools json locale logging lzma math operator os pathlib platform pprint pwd queue random re secrets "
    "shlex shutil signal sqlite3 stat statistics string struct subprocess tarfile tempfile textwrap threading time "
    "traceback types typing unicodedata urllib.parse uuid warnings xml.etree.ElementTree zipfile zlib concurrent.futures "
    "asyncio.subprocess skill_api"
)


def everything() -> None:
    """Imports what there is; a smaller image has less, and the skill that needs it will say so."""
    for name in MODULES.split():
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    _omni_aliases()
    job.rehearse()
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
