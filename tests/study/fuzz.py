"""Feeds damaged and made-up data to every parser of foreign data, for so many minutes each.

python tests/study/fuzz.py                     # ten minutes a parser
python tests/study/fuzz.py --minutes 1 evidence git
python tests/study/fuzz.py --list

A parser may say that something is wrong with its input, by its own error; anything else is a crash, and shown with the smallest
input that hypothesis finds. 1 as exit code where there was one.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import sys
import tarfile
import tempfile
import time
import traceback
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from sandbox import codec
from sandbox.guest import memory, private, reads, wire
from sandbox.interface import Entry, RunRequest, SkillJob, Snapshot
from sandbox.sbom import dumped, image_bom
from synth import attest
from synth.config import parse_config
from synth.detect.shape import shapes_of
from synth.embedded.steps import parse_or_none
from synth.importers.reader import import_path
from synth.tracing.redact import redact, redact_value
from synth.tracing.traces import load_traces
from verifiers.binding.bindings import load_bindings
from verifiers.conventions import findings
from verifiers.decisions.file import load_decisions
from verifiers.decisions.line import dump_decision
from verifiers.evidence import load_evidence
from verifiers.expectation.archives import canonical
from verifiers.expectation.carried import carried
from verifiers.expectation.equivalence import normal_form
from verifiers.formats.json_report import report_from_json
from verifiers.gating.policy import load_policy
from verifiers.gating.saved import gate_from_json
from verifiers.interface import AssayError, Behaviour, Decision, GeneratedCase, Profile, Question
from verifiers.source.agent_text import for_agent
from verifiers.source.docstring import parse_docstring
from verifiers.subject import parse_subject

FIXTURES = Path(__file__).parents[2] / "fixtures"
GOLDEN = Path(__file__).parents[1] / "golden"
SLOW_S = 5.0
"""An input of some thousand bytes that takes longer is a crash too."""


@dataclass(frozen=True)
class Target:
    """One parser: what may be wrong with its input by its own word, and inputs that it takes, to be damaged."""

    name: str
    call: Callable[[bytes], object]
    seeds: tuple[bytes, ...] = (b"",)
    allowed: tuple[type[Exception], ...] = (AssayError,)


class TooSlow(Exception):
    """A small input took seconds."""


# ---------------------------------------------------------------- inputs


def damaged(seeds: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """A seed with some of its pieces replaced, doubled or taken away; or bytes from nowhere."""
    tokens = st.sampled_from(
        [
            b"null",
            b"{}",
            b"[]",
            b'""',
            b"-1",
            b"1e999",
            b"9" * 30,
            b"true",
            b"\\ud800",
            b"\xff",
            b"\0",
            b"\n",
            b"..",
            b"/",
            b"'",
            b"$(",
        ]
    )
    piece = st.one_of(st.binary(max_size=12), tokens)
    edit = st.tuples(st.floats(0, 1), st.sampled_from([0, 1, 4, 40]), piece)
    grown = st.builds(_edited, st.sampled_from(list(seeds)), st.lists(edit, min_size=1, max_size=6))
    return st.one_of(
        grown, grown, grown, st.binary(max_size=300), st.text(max_size=200).map(lambda t: t.encode("utf-8", "replace"))
    )


def _edited(seed: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
    for at, cut, piece in edits:
        where = int(at * len(seed))
        seed = seed[:where] + piece + seed[where + cut :]
    return seed


def lines_of(path: Path, count: int = 12, most: int = 6_000) -> tuple[bytes, ...]:
    """Short lines of a file, as seeds."""
    return tuple(line for line in path.read_bytes().splitlines() if len(line) < most)[:count] or (b"",)


def texts_of(paths: Sequence[Path], most: int = 8_000) -> tuple[bytes, ...]:
    return tuple(data for p in paths if len(data := p.read_bytes()) < most)[:12] or (b"",)


@cache
def scratch() -> Path:
    return Path(tempfile.mkdtemp(prefix="assay-fuzz-"))


def by_file(name: str, parse: Callable[[Path], object]) -> Callable[[bytes], object]:
    """A parser of files as one of bytes."""

    def call(data: bytes) -> object:
        path = scratch() / name
        path.write_bytes(data)
        return parse(path)

    return call


def archives() -> tuple[bytes, ...]:
    """One small archive of each kind that is compared by content."""
    out, tar, packed = [], io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as made:
        info = tarfile.TarInfo("a/b.txt")
        info.size = 3
        made.addfile(info, io.BytesIO(b"abc"))
    with zipfile.ZipFile(packed, "w") as made_zip:
        made_zip.writestr("a.txt", "abc" * 20)
    out += [tar.getvalue(), packed.getvalue(), zlib.compress(b"abc" * 50, wbits=31)]
    sqlite = scratch() / "seed.db"
    import sqlite3

    with sqlite3.connect(sqlite) as db:
        db.execute("create table t (a)")
        db.execute("insert into t values ('x')")
    return (*out, sqlite.read_bytes())


def git_tree(data: bytes) -> object:
    """Every file of a small repository in turn is what comes."""
    head = {".git": Entry("dir", 0o755), ".git/objects": Entry("dir", 0o755), ".git/refs": Entry("dir", 0o755)}
    base = {".git/HEAD": b"ref: refs/heads/main\n", ".git/config": b"[core]\n\tbare = false\n"}
    which = (
        ".git/HEAD",
        ".git/config",
        ".git/index",
        ".git/packed-refs",
        ".git/refs/heads/main",
        f".git/objects/{'a' * 2}/{'b' * 38}",
    )
    forms = []
    for path in which:
        content = zlib.compress(data) if "objects/" in path else data
        files = {**base, ".git/refs/heads/main": b"a" * 2 + b"b" * 38 + b"\n", path: content}
        parents = {str(p): Entry("dir", 0o755) for f in files for p in Path(f).parents if str(p) not in (".", "/")}
        forms.append(normal_form(Snapshot({**head, **parents, **{f: Entry("file", 0o644, c) for f, c in files.items()}})))
    return forms


def answer_of(data: bytes) -> object:
    """What a job may say over its private pipe."""
    frames, notes = private.parse_frames(b"k" * 16, private.frame(b"k" * 16, 0, {"x": 1}) + data)
    step = {"status": 0, "out": len(data), "err": 0, "cwd": ".", "frames": len(frames) + 1, "notes": notes}
    keys = ("leftovers", "seen_network", "network", "outside", "calls", "scan_findings")
    answer = {"steps": [step], "ended": "exited", "fault_reached": False, "duration_s": 0.1, **{k: [] for k in keys}}
    request = RunRequest(SkillJob("", {}), Snapshot())
    found = codec.record(request, answer, [data, b"", *frames, data], Snapshot(), 1.0)
    return carried(found, "")


def decision_of(data: bytes) -> object:
    """With the digest that fits, so that what is within is looked at."""
    row = _json_or_text(data)
    if isinstance(row, dict):
        row = {k: v for k, v in row.items() if k != "digest"}
        canon = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        data = json.dumps({**row, "digest": hashlib.sha256(canon.encode()).hexdigest()}).encode()
    return by_file("decisions.jsonl", load_decisions)(data)


def report_of(data: bytes) -> object:
    return report_from_json(json.loads(data))


def gate_of(data: bytes) -> object:
    return gate_from_json(json.loads(data))


KEY = Ed25519PrivateKey.from_private_bytes(b"7" * 32)


def envelope_of(data: bytes) -> object:
    """A signed one, so that what is within is looked at."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    envelope = attest.sign(document, KEY) if isinstance(document, dict) else document
    return attest.verify(envelope, KEY.public_key(), FIXTURES / "skills" / "rename_ext")


def subject_of(data: bytes) -> object:
    text = data.decode("utf-8", "replace")
    profiles: tuple[Profile, ...] = ("seed", "omni")
    return [findings(parse_subject(text, "skill.py", profile)) for profile in profiles]


def inventory_of(data: bytes) -> object:
    return dumped(image_bom(data.decode("utf-8", "replace"), "x:1", f"sha256:{'b' * 64}"))


def text_call(parse: Callable[[str], object]) -> Callable[[bytes], object]:
    return lambda data: parse(data.decode("utf-8", "surrogateescape"))


@cache
def targets() -> tuple[Target, ...]:
    traces = lines_of(FIXTURES / "traces" / "traces.jsonl")
    commands = tuple(c.encode() for t in load_traces(FIXTURES / "traces" / "traces.jsonl")[:60] for c in t.commands)
    skills = texts_of(sorted((FIXTURES / "attacks").glob("*.py"))[:8])
    imported = {
        "claude_code.jsonl": "claude_code.jsonl", "swe_agent.traj": "swe_agent.traj", "wayland_turns.jsonl": "w.jsonl",
        "mini_swe_agent.traj.json": "m.traj.json", "swe_agent_log.jsonl": "l.jsonl", "ui_messages.json": "ui_messages.json",
        "terminal.cast": "t.cast", "shell/session.txt": "typescript", "shell/zsh.history": ".zsh_history",
    }  # fmt: skip
    reports = texts_of(sorted((GOLDEN / "reports").glob("*.json")), 60_000) + texts_of(
        [GOLDEN / "formats" / "gate-json.json"], 60_000
    )
    json_error = (AssayError, ValueError, RecursionError)
    return (
        Target("evidence", by_file("e.jsonl", load_evidence), traces),
        Target("traces", by_file("t.jsonl", load_traces), traces),
        Target(
            "bindings", by_file("bindings.json", load_bindings), (b'{"t": {"args": {"a": 1}}}', b'[{"task_id": "t", "args": {}}]')
        ),
        Target("decisions", decision_of, _decisions()),
        Target("policy", by_file("policy.yaml", load_policy), (b"min_score: 0.5\nevidence: pinned\nwaivers: []\n",)),
        Target(
            "config", lambda d: parse_config(d, scratch() / "assay.yaml"), (b"evolution:\n  min_frequency: 3\nsandbox: {}\n",)
        ),
        Target("config-toml", lambda d: parse_config(d, scratch() / "pyproject.toml"), (b"[tool.assay.sandbox]\nworkers = 2\n",)),
        *(
            Target(f"import-{name}", by_file(kept, import_path), _whole(FIXTURES / "importers" / name))
            for name, kept in imported.items()
        ),
        Target("import-shell", by_file("log.txt", lambda p: import_path(p, "shell")), _shell_logs()),
        Target("archives", canonical, archives(), ()),
        Target("git", git_tree, _git_seeds(), ()),
        Target("frames", answer_of, (b'{"returned": "{}"}', b'{"raised": {"type": "X"}}', b'{"lines": [1]}')),
        Target("wire", wire.parse_header, (b'{"type": "result", "parts": [1, 2]}',), (wire.WireError,)),
        Target("inotify", lambda d: list(reads.parse(d)), (b"\1\0\0\0\2\0\0\0\0\0\0\0\4\0\0\0abc\0",), ()),
        Target("addresses", memory.described, (b"\2\0\0\x50\x7f\0\0\1", b"\1\0/x", b"\x0a\0" + b"\0" * 26), ()),
        Target("reports", report_of, reports, json_error),
        Target("gates", gate_of, texts_of([GOLDEN / "formats" / "gate-json.json"], 60_000), json_error),
        Target("attestations", envelope_of, (b'{"payload": "e30=", "payloadType": "x", "signatures": []}', *_statements())),
        Target("skills", subject_of, skills),
        Target("docstrings", text_call(parse_docstring), (b"Do it.\n\nArgs:\n    a: b\n\nReturns:\n    c\n",), ()),
        Target("agent-text", text_call(for_agent), (b"Rename files. Before calling this tool, read x.",), ()),
        Target("shell", text_call(parse_or_none), commands, ()),
        Target("shapes", text_call(shapes_of), commands, ()),
        Target("secrets", text_call(redact), (b"password=hunter22\nAKIAIOSFODNN7EXAMPLE", *commands[:20]), ()),
        Target("secrets-json", lambda d: redact_value(_json_or_text(d)), traces, ()),
        Target(
            "inventory",
            inventory_of,
            (b"os debian 12\na 1 amd64 installed",),
            (),
        ),
    )


def _json_or_text(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data.decode("utf-8", "replace")


def _decisions() -> tuple[bytes, ...]:
    start = Snapshot({"a b": Entry("file", content=b"x")})
    same = Behaviour(start, None, "", ("nothing changed",))
    asked = Question("x", "why", GeneratedCase("t", start, {"a": 1}), same, same, 1)
    return (dump_decision(Decision(asked, "skill", who="kim", when="2026-01-02T03:04:05+00:00")).encode(),)


def _whole(path: Path) -> tuple[bytes, ...]:
    return (path.read_bytes()[:20_000],)


def _shell_logs() -> tuple[bytes, ...]:
    logs = [p for p in sorted((FIXTURES / "importers" / "shell").rglob("*")) if p.is_file()]
    return (*texts_of(logs), b"$ ls\na\n$ cd x\n")


def _git_seeds() -> tuple[bytes, ...]:
    return (
        b"ref: refs/heads/main\n", b"[core]\n\tbare = false\n[alias]\n\tx = !sh\n",
        b"commit 200\0tree " + b"a" * 40 + b"\nauthor A <a> 1 +0000\n",
        b"tree 30\0100644 a\0" + b"\1" * 20, b"blob 3\0abc", b"tag 10\0object " + b"a" * 40,
        b"DIRC\0\0\0\2\0\0\0\1" + b"\0" * 62 + b"a" + b"\0" * 30, b"# pack-refs with: peeled\n" + b"a" * 40 + b" refs/tags/x\n",
    )  # fmt: skip


def _statements() -> tuple[bytes, ...]:
    body = {"_type": "https://in-toto.io/Statement/v1", "subject": [{"name": "x", "digest": {"sha256": "0"}}], "predicate": {}}
    return (
        json.dumps(body).encode(),
        json.dumps({**body, "predicateType": "https://in-toto.io/attestation/test-result/v0.1"}).encode(),
    )


# ---------------------------------------------------------------- fuzzing


@dataclass
class Outcome:
    name: str
    inputs: int = 0
    taken: int = 0
    """Inputs that the parser took: where there are none, only its first line of defence was tried."""
    seconds: float = 0.0
    crash: str = ""


def fuzz(target: Target, seconds: float) -> Outcome:
    """Feeds one parser until time is up or it crashes."""
    out, began = Outcome(target.name), time.monotonic()

    def feed(data: bytes) -> None:
        out.inputs += 1
        start = time.process_time()
        try:
            target.call(data)
            out.taken += 1
        except target.allowed:
            pass
        if (took := time.process_time() - start) > SLOW_S:
            raise TooSlow(f"{took:.1f} s for {len(data)} bytes")

    checked = settings(
        max_examples=400, deadline=None, database=None, suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.target, Phase.shrink),
    )(given(damaged(target.seeds))(feed))  # fmt: skip
    for seed in target.seeds:
        feed(seed)
    while time.monotonic() - began < seconds and not out.crash:
        try:
            checked()
        except Exception:  # noqa: BLE001  # whatever a parser lets through is what is looked for
            out.crash = traceback.format_exc()
    out.seconds = time.monotonic() - began
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parsers", nargs="*", help="names, or beginnings of names; all without one")
    parser.add_argument("--minutes", type=float, default=10.0, help="for each parser")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    chosen = [t for t in targets() if not options.parsers or t.name.startswith(tuple(options.parsers))]
    if options.list or not chosen:
        print("\n".join(t.name for t in targets()))
        return 0 if options.list else 2
    crashed = 0
    print(f"{'parser':<28}{'inputs':>9}{'taken':>9}{'seconds':>9}")
    for target in chosen:
        found = fuzz(target, options.minutes * 60)
        crashed += bool(found.crash)
        print(
            f"{found.name:<28}{found.inputs:>9}{found.taken:>9}{found.seconds:>9.0f}  {'CRASH' if found.crash else ''}",
            flush=True,
        )
        if found.crash:
            print(found.crash, flush=True)
    return 1 if crashed else 0


if __name__ == "__main__":
    sys.exit(main())
