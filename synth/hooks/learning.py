"""``learn: background``: what is due is verified then and there, one task at a time, and offered. Nothing is installed unasked.

The skill goes into a registry of the store's own, made by ``assay crystallize`` itself: with the project's settings, but without
a model, which would cost money, and with nothing written into the project.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shlex
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from synth.hooks.agents import AGENTS
from synth.hooks.later import assay
from synth.store.moments import Moment
from synth.store.tasks import Store
from verifiers.formats.text import bound, plural

LONGEST_S = 1200.0
"""For one task."""


def learn_waiting(store: Store) -> None:
    """Learns what waits, one after the other. Where another process does that already, it takes what waits."""
    if next(store.moments.all("learning"), None) is None:
        return
    with (store.root / "learning.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        while (found := next(store.moments.all("learning"), None)) is not None:
            _learn(store, found[0])


def _learn(store: Store, moment: Moment) -> None:
    began = time.monotonic()
    place = store.root / "learned" / hashlib.sha256(moment.root.encode("utf-8", "replace")).hexdigest()[:12]
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        outcome = _crystallized(moment, place)
    except (OSError, ValueError, KeyError, IndexError, subprocess.SubprocessError) as e:
        outcome = {"outcome": "inconclusive", "why": f"{type(e).__name__}: {e}"}
    done = replace(moment, time=time.time(), seconds=round(time.monotonic() - began, 1))
    if outcome["outcome"] == "registered":
        store.moments.put(replace(done, text=_offer(done, outcome, place / "registry")), "offer")
    else:
        why = " ".join(str(outcome["why"]).split())
        again = f"To try again: assay crystallize {shlex.quote(moment.recording)}"
        store.moments.put(replace(done, text=f"{moment.task} was not learned ({outcome['outcome']}): {why}. {again}"), "failed")


def _crystallized(moment: Moment, place: Path) -> dict[str, Any]:
    """What became of the pattern, as the command says it.

    Raises:
        OSError, ValueError, KeyError, IndexError, subprocess.SubprocessError: it said nothing.
    """
    words = ("crystallize", moment.recording, "--registry", str(place / "registry"), "--generator", "embedded",
        "--workers", "1", "--format", "json", "-q",
    )  # fmt: skip
    root = Path(moment.root)
    process = subprocess.Popen(
        assay(*words), cwd=root if root.is_dir() else place, env={**os.environ, "PRJ_DATA": str(place / "data")},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, text=True,
    )  # fmt: skip
    try:
        said, errors = process.communicate(timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    if not said.strip():
        raise ValueError(" ".join(errors.split())[-500:] or f"it ended with {process.returncode}")
    patterns: list[dict[str, Any]] = json.loads(said)["patterns"]
    return next((p for p in patterns if p["outcome"] == "registered"), patterns[0])


def _offer(moment: Moment, outcome: dict[str, Any], registry: Path) -> str:
    """One line: what was learned, how good it is, what it asks, and how to have it."""
    from synth.registry import Registry

    name = str(outcome["skill"])
    with Registry(registry) as opened:
        asked = len(opened.report(name, str(outcome["version"])).get("questions", ()))
    where = f"--registry {shlex.quote(str(registry))}"
    score = f"score at least {bound(outcome['score'])}, " if outcome["score"] is not None else ""
    questions = f"{plural(asked, 'open question')}" + (f" (assay verify {name} {where})" if asked else "")
    return (
        f"assay: learned {name} from {plural(len(outcome['bindings']), 'recording')}: it passed, {score}{questions}. "
        f"To install it: assay export {name} --install {_agent(moment)} {where}"
    )


def _agent(moment: Moment) -> str:
    """Whose skills it is put to: in the project where the agent has a directory there, else in the home directory."""
    agent = AGENTS.get(moment.agent, AGENTS["claude-code"])
    here = (Path(moment.root) / agent.skills).parent.is_dir()
    return agent.name + (f" --project {shlex.quote(moment.root)}" if here else "")
