"""The command line. One file a command group, imported only when that command runs, so that ``--help`` is instant."""

from synth.cli.program import main

__all__ = ["main"]
