"""Puts this distribution's packages first on the path: other distributions have packages of the same names.

Installed, ``synth``, ``verifiers`` and ``sandbox`` lie in a folder of their own, which ``skill_assay.pth`` puts last on the path:
pip never writes one distribution's files over another's. The command ``assay`` starts here, so it always gets its own. A program
that uses the API beside such a distribution imports this module before the others; one process has one of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_INSTALLED = _HERE / "skill_assay_packages"
HOME = _INSTALLED if (_INSTALLED / "synth").is_dir() else _HERE
"""Where the packages are: the folder of an installation, or the repository."""
PACKAGES = ("synth", "verifiers", "sandbox")


def _first() -> None:
    """Puts ``HOME`` first on the path.

    Raises:
        ImportError: a package of another distribution was imported before.
    """
    for name in PACKAGES:
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if module is not None and (file is None or HOME not in Path(file).resolve().parents):
            raise ImportError(f"the package {name!r} at {file} is another distribution's: import skill_assay before it")
    sys.path[:] = [str(HOME), *(p for p in sys.path if p != str(HOME))]


_first()


def main() -> None:
    """The command ``assay``."""
    from synth.cli.program import main as command

    command()


if __name__ == "__main__":
    main()
