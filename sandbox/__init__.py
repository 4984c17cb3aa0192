"""Observes: runs jobs in a hardened container and says what happened. No opinion about right or wrong."""

from sandbox.opening import open_sandbox

__all__ = ["open_sandbox"]
