"""Requests as the runner reads them, and its answers as records. Pure; what comes from a job is not trusted."""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.container import HOME, OTHER_WORKSPACE, WORKSPACE
from sandbox.guest.belongings import TOKEN
from sandbox.guest.store import digest, manifest
from sandbox.guest.tree import WireEntry
from sandbox.interface import (
    Call,
    CancelledAt,
    Cause,
    CrashAt,
    Entry,
    ErrnoAt,
    ExecResult,
    KillAfter,
    Leftover,
    NoReturn,
    Outcome,
    OvertakenAt,
    Raised,
    ReadOnlySubtree,
    ReplayRecord,
    Returned,
    RunRequest,
    SandboxError,
    SkillJob,
    Snapshot,
    Surroundings,
)

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_EPOCH = "1600000000"
_LIVED_IN = {
    "COLUMNS": "7",
    "LINES": "3",
    "AWS_SECRET_ACCESS_KEY": TOKEN,
    "DATABASE_URL": f"postgres://agent:{TOKEN}@db/shop",
    "GITHUB_TOKEN": TOKEN,
    "OPENAI_API_KEY": TOKEN,
}
"""What somebody who lives there has: a terminal, and a small one, and secrets that other programs want."""


def environment(where: Surroundings) -> dict[str, str]:
    """The whole environment of a job: nothing of the container's or the client's own gets through.

    Raises:
        SandboxError: nobody can be called what the surroundings call the author.
    """
    author = re.fullmatch(r"([^<>\0\n]+) <([^<>\0\n]*)> (\d+ [+-]\d{4})", where.author)
    if author is None:
        raise SandboxError(Cause.OPTION_IGNORED, f"the author cannot be {where.author!r}", "Write NAME <EMAIL> SECONDS ZONE")
    identity = zip(("NAME", "EMAIL", "DATE"), author.groups(), strict=True)
    git = {f"GIT_{who}_{what}": value for what, value in identity for who in ("AUTHOR", "COMMITTER")}
    return {
        "PATH": PATH,
        "HOME": home(where),
        "PWD": WORKSPACE if where.workdir == "other" else workdir(where),  # who changes directory leaves it as it was
        "USER": "agent",
        "LOGNAME": "agent",
        "SHELL": "/bin/bash",
        "LANG": where.locale,
        "LC_ALL": where.locale,
        "TZ": where.tz,
        "PYTHONHASHSEED": str(where.hash_seed),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SOURCE_DATE_EPOCH": _EPOCH,
        "TERM": "dumb",
        **({"PYTHONOPTIMIZE": "1"} if where.optimised else {}),
        **(_LIVED_IN if where.home else {}),
        **git,
    }


def home(where: Surroundings) -> str:
    """Where HOME is: the default, or another directory below it. Raises SandboxError for a place elsewhere."""
    if where.home is None:
        return HOME
    path = posixpath.normpath(posixpath.join(HOME, where.home))
    if path != HOME and not path.startswith(HOME + "/"):
        raise SandboxError(Cause.OPTION_IGNORED, f"HOME cannot be {where.home!r}", f"Choose a directory below {HOME}")
    return path


def workdir(where: Surroundings) -> str:
    """Absolute path of the workspace."""
    if where.workdir is None:
        return WORKSPACE
    return OTHER_WORKSPACE if where.workdir == "other" else posixpath.normpath(where.workdir)


def tree_of(snapshot: Snapshot) -> tuple[bytes, dict[str, bytes]]:
    """Manifest of a snapshot and its contents by sha256.

    Raises:
        SandboxError: an entry that no job could make (a socket, a device).
    """
    entries, contents = [], {}
    others = _further_names(snapshot)
    for path, entry in snapshot.items():
        if entry.type in ("socket", "device"):
            raise SandboxError(Cause.OPTION_IGNORED, f"a workspace with a {entry.type} ({path!r}) cannot be made")
        ref = entry.target
        if entry.type == "file":
            ref = digest(entry.content)
            contents[ref] = entry.content
        if path in others:
            entries.append(WireEntry(path, "link", entry.mode, others[path]))
            continue
        entries.append(WireEntry(path, entry.type, entry.mode, ref))
    return manifest(entries), contents


def _further_names(snapshot: Snapshot) -> dict[str, str]:
    """Further name -> first name, of files that stand under several. Which belong together, equal contents tell."""
    alike: dict[tuple[int, int, bytes], list[str]] = {}
    for path, e in snapshot.items():
        if e.type == "file" and e.links > 1:
            alike.setdefault((e.links, e.mode, e.content), []).append(path)
    groups = [paths[n : n + links] for (links, _, _), paths in alike.items() for n in range(0, len(paths), links)]
    return {path: group[0] for group in groups for path in group[1:]}


def refs_of(text: bytes) -> list[str]:
    """The contents that a manifest mentions, sorted."""
    return sorted({e[3] for e in json.loads(text) if e[1] == "file"})


def snapshot_of(text: bytes, contents: Mapping[str, bytes]) -> Snapshot:
    """A manifest with its contents as a snapshot."""
    listed = json.loads(text)
    files = {path: ref for path, kind, _, ref in listed if kind == "file"}
    names = Counter(ref for _, kind, _, ref in listed if kind == "link")
    entries = {}
    for path, kind, mode, ref in listed:
        if kind in ("file", "link"):
            first = ref if kind == "link" else path
            entries[path] = Entry("file", mode, contents[files[first]], links=names[first] + 1)
        else:
            entries[path] = Entry(kind, mode, target=ref if kind == "symlink" else "")
    return Snapshot(entries)


def request_header(request: RunRequest, base: str) -> tuple[dict[str, Any], list[bytes]]:
    """The ``run`` message. ``base`` is the digest of the base's manifest.

    Raises:
        SandboxError: the fault is not for a job of this kind.
    """
    where, job = request.surroundings, request.job
    header: dict[str, Any] = {
        "type": "run",
        "base": base,
        "workdir": workdir(where),
        "order": where.order,
        "env": environment(where),
        "lived_in": where.home is not None,
        "neighbours": where.neighbours,
        "module": where.module,
        "umask": where.umask,
        "hash_seed": where.hash_seed,
        "locale": where.locale,
        "cpus": where.cpus,
        "delay": where.delay_s,
        "wall": request.limits.wall_s,
        "output": request.limits.output_bytes,
        "file_bytes": request.limits.file_bytes,
        "kill_after": request.fault.seconds if isinstance(request.fault, KillAfter) else None,
        "watch": watch(request),
        "function": None,
        "trace": False,
        "cancel": request.fault.k if isinstance(request.fault, CancelledAt) else None,
        "input": isinstance(job, SkillJob) or request.host_input,
    }
    if isinstance(job, SkillJob):
        args = json.dumps(dict(job.args)).encode("ascii")
        header |= {"kind": "skill", "function": job.function, "trace": job.trace_lines}
        return header, [job.source.encode("utf-8", "surrogateescape"), args]
    if isinstance(request.fault, OvertakenAt | CancelledAt):
        raise SandboxError(Cause.OPTION_IGNORED, "only a skill's run can be overtaken by another, or cancelled")
    return {**header, "kind": "shell", "commands": [whole(c) for c in job.commands]}, []


def watch(request: RunRequest) -> dict[str, Any] | None:
    """What the supervisor is told; None where the run needs none."""
    fault, root = request.fault, workdir(request.surroundings)
    if isinstance(fault, CrashAt):
        calls = "torn" if fault.torn else "change"
        return _watch(["write"] if fault.torn else [], {"type": "crash", "k": fault.k, "calls": calls})
    if isinstance(fault, ErrnoAt):
        announced = [str(fault.calls)] if fault.calls in ("read", "write") else []
        return _watch(announced, {"type": "errno", "k": fault.k, "calls": fault.calls, "errno": fault.errno})
    if isinstance(fault, OvertakenAt):
        return _watch([], {"type": "overtake", "k": fault.k, "calls": "change"})
    if isinstance(fault, ReadOnlySubtree):
        path = posixpath.normpath(posixpath.join(root, fault.path))
        return _watch([], {"type": "read-only", "path": path})
    if not request.observe:
        return None
    return _watch(["read", "look"], None) if request.looks else {**_watch([], None), "reads": True}


def _watch(classes: list[str], fault: dict[str, Any] | None) -> dict[str, Any]:
    return {"classes": classes, "fault": fault, "reads": False}


_HEREDOC = re.compile(r"<<(-?)\s*(['\"\\\\]?)([^\s'\"|&;<>()]+)")


def whole(command: str) -> str:
    """The text for ``bash -c`` that keeps Bash itself alive until the end, so that its last directory can be seen.

    Bash becomes its last simple command (``mkdir -p a/b`` changes directory in its own process then) unless text follows
    it. Two newlines are such text, and mean nothing, except behind a backslash and in a here-document that has no end.
    """
    lines = command.split("\n")
    open_ended = any(
        not any((line.lstrip("\t") if dash else line) == word for line in lines) for dash, _, word in _HEREDOC.findall(command)
    )
    return command if open_ended or command.endswith("\\") else command + "\n\n"


# ---------------------------------------------------------------- answers


def record(
    request: RunRequest, answer: Mapping[str, Any], outputs: Sequence[bytes], post: Snapshot, wall_s: float
) -> ReplayRecord:
    """The facts of one run, from the runner's answer. ``outputs``: per step stdout, stderr, then its frames."""
    steps, messages, findings, audit, started = [], [], [], [], []
    at = 0
    for raw in answer["steps"]:
        count = raw["frames"]
        steps.append(_step(raw, outputs[at], outputs[at + 1]))
        said = [_message(m) for m in outputs[at + 2 : at + 2 + count]]
        audit += [str(m["audit"])[:500] for m in said if "audit" in m]
        started += [tuple(str(w) for w in m["started"]) for m in said if isinstance(m.get("started"), list)]
        messages.append([m for m in said if "audit" not in m and "started" not in m])
        findings += raw["notes"]
        at += 2 + count
    is_skill = isinstance(request.job, SkillJob)
    for said in messages:
        failed = next((m["failed"] for m in said if isinstance(m.get("failed"), str)), None)
        if (
            failed and not audit and not started
        ):  # what is said before the skill's own code runs; after a report it is the skill's word
            raise SandboxError(Cause.PROTOCOL, str(failed))
        if len(said) > 1:
            findings.append("a second frame came over the job's private pipe")
    if is_skill and answer["ended"] == "exited":
        findings += [
            f"its process {_end(s)} after its answer" for m, s in zip(messages, steps, strict=True) if m and s.exit_code != 0
        ]
    outcomes = [_outcome(m, s, answer["ended"], wall_s) for m, s in zip(messages, steps, strict=True)] if is_skill else []
    first = messages[0][0] if messages and messages[0] else {}
    probe = _texts(first.get("probe"))
    return ReplayRecord(
        outcome=outcomes[0] if outcomes else None,
        overtaker=outcomes[1] if len(outcomes) > 1 else None,
        steps=tuple(steps),
        post=post,
        ended=answer["ended"],
        leftovers=tuple(Leftover(kind, detail) for kind, detail in answer["leftovers"]),
        network=(*answer["seen_network"], *answer["network"]),
        outside=tuple(answer["outside"]),
        calls=tuple(Call(**c) for c in answer["calls"]),
        fault_reached=answer["fault_reached"] or (isinstance(request.fault, CancelledAt) and waited(probe) > request.fault.k),
        lines=_lines(first.get("lines")),
        protocol_findings=tuple(findings),
        audit=tuple(dict.fromkeys(audit)),
        started=tuple(dict.fromkeys(started)),
        missing=tuple(answer["missing"]),
        probe=probe,
        scan_findings=tuple(answer["scan_findings"]),
        took_input=answer["took_input"],
        duration_s=answer["duration_s"],
    )


def waited(probe: Mapping[str, str]) -> int:
    """How often a coroutine waited, by what a job's process says."""
    text = probe.get("waited", "")
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else 0


def _step(raw: Mapping[str, Any], out: bytes, err: bytes) -> ExecResult:
    status = raw["status"]
    signal = None if status is None else status & 0x7F
    return ExecResult(
        exit_code=(status >> 8) & 0xFF if status is not None and not signal else None,
        signal=signal or None,
        stdout=out,
        stderr=err,
        truncated=raw["out"] > len(out) or raw["err"] > len(err),
        stdout_bytes=raw["out"],
        cwd=raw["cwd"],
    )


def _message(data: bytes) -> dict[str, Any]:
    """A job's frame as an object; empty where a job forged something else."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _outcome(said: Sequence[Mapping[str, Any]], step: ExecResult, ended: str, wall_s: float) -> Outcome:
    message = said[0] if said else {}
    if message and ended == "exited" and step.exit_code != 0:
        return NoReturn(f"{_end(step)} after its answer")
    if isinstance(message.get("returned"), str):
        try:
            return Returned(json.loads(message["returned"], parse_constant=_no_constant))
        except (ValueError, RecursionError) as error:
            return NoReturn(f"the value is not JSON: {error}"[:300])
    if isinstance(message.get("raised"), dict):
        return _raised(message["raised"])
    if isinstance(message.get("not_json"), str):
        return NoReturn(message["not_json"][:600])
    if ended == "timeout":
        return NoReturn(f"timed out after {wall_s:g} s")
    if ended == "oom":
        return NoReturn("killed for want of memory")
    return NoReturn(_end(step) if step.exit_code is None else f"{_end(step)} without a return value")


def _end(step: ExecResult) -> str:
    return f"killed by signal {step.signal}" if step.exit_code is None else f"exited {step.exit_code}"


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _raised(raw: Mapping[str, Any]) -> Raised:
    line = raw.get("line")
    return Raised(
        type=str(raw.get("type", ""))[:200],
        message=str(raw.get("message", ""))[:20_000],
        traceback=str(raw.get("traceback", ""))[:20_000],
        line=line if type(line) is int else None,
    )


def _lines(raw: object) -> frozenset[int]:
    return frozenset(n for n in raw if type(n) is int) if isinstance(raw, list) else frozenset()


def _texts(raw: object) -> dict[str, str]:
    if not isinstance(raw, dict):
        return {}
    return {str(k)[:100]: str(v)[:1000] for k, v in raw.items()}
