"""``decisions.jsonl``: read whole or refused whole, and only ever added to."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from verifiers.decisions.line import dump_decision, parse_decision
from verifiers.interface import AssayError, Decision

_RESTORE = "Take the file from where it was whole, or remove the line and decide anew with: assay answer"


class DecisionError(AssayError, ValueError):
    """Decisions that cannot be read, that contradict, or that nothing asked for."""


def load_decisions(path: Path) -> tuple[Decision, ...]:
    """The decisions of a file, in the order in which they were given, copies once.

    Raises:
        DecisionError: names file and line: cut off, edited, unknown, or two that contradict.
    """
    try:
        data = path.read_bytes()
    except OSError as e:
        raise DecisionError(f"cannot be read ({e.strerror or e})", "Check the path and its permissions", path) from e
    return tuple(d for _, d in _parsed(data, path).values())


def check_cases(decisions: Sequence[Decision], tasks: Collection[str], path: Path) -> None:
    """Returns if the evidence still has the trace of every decided case.

    Raises:
        DecisionError: names the first trace that is gone.
    """
    for decision in decisions:
        task = decision.question.case.task_id
        if task not in tasks:
            raise DecisionError(
                f"a decision is about a case of trace {task!r}, and the evidence has no such trace",
                "Bring the trace back, or remove the decision's line",
                path,
            )


def add(path: Path, new: Sequence[Decision], copied_from: Path | None = None) -> tuple[Decision, ...]:
    """Adds decisions to a file in one step, and returns those that it did not hold yet. Two writers wait for each other.

    Args:
        path: Made where it is not there.
        copied_from: What a new file starts with: decisions that were found elsewhere and must go on to hold.

    Raises:
        DecisionError: the file is damaged, says otherwise about a case, or cannot be written. It is then as it was.
    """
    with _alone(path):
        source = path if path.exists() or copied_from is None else copied_from
        data = source.read_bytes() if source.exists() else b""
        known = _parsed(data, source) if source.exists() else {}
        said = {_said(d) for _, d in known.values()}
        fresh = [d for d in new if _said(d) not in said]
        if data and not data.endswith(b"\n"):
            data += b"\n"
        data += "".join(f"{dump_decision(d)}\n" for d in fresh).encode()
        if fresh or source != path:
            _parsed(data, path)
            _replace(path, data)
    return tuple(fresh)


def _said(decision: Decision) -> tuple[str, str, str]:
    """What a decision says of which case, whoever said it and when."""
    return decision.question.case.digest, decision.says, decision.text


def _parsed(data: bytes, path: Path) -> dict[str, tuple[int, Decision]]:
    """Line -> its number and decision."""
    if not data.strip():
        raise DecisionError("is empty: it looks cut off", "Take it from where it was whole, or remove it", path)
    found: dict[str, tuple[int, Decision]] = {}
    first: dict[str, tuple[int, Decision]] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        decision = _line(line, f"{path}:{number}", cut=data.endswith(line))
        earlier = first.setdefault(decision.question.case.digest, (number, decision))
        if earlier[1].says != decision.says:
            raise DecisionError(
                f"lines {earlier[0]} and {number} contradict: of one case the first says {earlier[1].says}, "
                f"the second {decision.says}",
                "Remove the one that does not hold",
                path,
            )
        found.setdefault(dump_decision(decision), (number, decision))
    return found


def _line(line: bytes, where: str, cut: bool) -> Decision:
    try:
        return parse_decision(line.decode("utf-8"))
    except UnicodeDecodeError as e:
        raise DecisionError(f"is not UTF-8 text (byte {e.start})", _RESTORE, where) from e
    except ValueError as e:
        if cut and "is not JSON" in str(e):
            raise DecisionError("ends in the middle of a decision: the file looks cut off", _RESTORE, where) from e
        raise DecisionError(f"no decision can be read: {e}", _RESTORE, where) from e


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Holds the lock of the file's directory: a lock file would be one more file that belongs to nobody."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as e:
        raise _unwritable(path, e) from e
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    except OSError as e:
        raise _unwritable(path, e) from e
    finally:
        os.close(handle)


def _unwritable(path: Path, error: OSError) -> DecisionError:
    what = f"the decision cannot be written ({error.strerror or error})"
    return DecisionError(what, "Check the rights and the room there is, or name another file with --decisions", path)


def _replace(path: Path, data: bytes) -> None:
    """A reader sees the old file or the new one, also after a crash."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as f:
            f.write(data)
            f.flush()
            os.fchmod(f.fileno(), path.stat().st_mode & 0o7777 if path.exists() else 0o644)
            os.fsync(f.fileno())
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
