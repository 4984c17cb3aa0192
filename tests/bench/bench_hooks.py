"""What hooks cost an agent, a turn: python tests/bench/bench_hooks.py [FILES [CHANGED]]

A git repository of so many files (5,000, of which 20 are changed). Each round runs `git status` there and then, each as the agent
runs it, the hooks of a turn with one command: the request, before and after the command, and the end. Prints the medians, in
milliseconds and in times of `git status`; also how long after request and end the tree was seen, for which an agent waits only if
it runs a command at once. Exits 1 where a turn is above three of these, or above 150 ms.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from synth.hooks.agents import AGENTS
from synth.hooks.install import install
from synth.hooks.spool import take_in
from synth.store.tasks import Store

ROUNDS = 21
MOST_TIMES, MOST_MS = 3.0, 150.0
AGENT = AGENTS["claude-code"]


def repository(root: Path, files: int, changed: int) -> None:
    def git(*words: str) -> None:
        known = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0")
        subprocess.run(["git", *known, *words], cwd=root, check=True, capture_output=True)

    for number in range(files):
        path = root / f"d{number // 100:04}" / f"f{number:06}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n" * 20)
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "x")
    for path in sorted(root.glob("d*/*"))[:: max(1, files // changed)][:changed]:
        path.write_text("changed\n")


def milliseconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1000


def main(files: int, changed: int) -> int:
    with tempfile.TemporaryDirectory() as made:
        root, store = Path(made) / "project", Store(Path(made) / "store")
        root.mkdir()
        repository(root, files, changed)
        hooks = json.loads(install(AGENT, root, store.root).read_text())["hooks"]
        call = {"tool_name": "Bash", "tool_input": {"command": "ls"}}

        def hook(event: str, **more: object) -> Callable[[], object]:
            payload = json.dumps({"session_id": "s", "cwd": str(root), "hook_event_name": event, **more})
            command = hooks[event][0]["hooks"][0]["command"]
            return lambda: subprocess.run(["sh", "-c", command], input=payload, text=True, check=True, capture_output=True)

        parts = {
            "git status": lambda: subprocess.run(["git", "status"], cwd=root, check=True, capture_output=True),
            "request": hook("UserPromptSubmit", prompt="x"),
            "before a command": hook("PreToolUse", **call),
            "after a command": hook("PostToolUse", **call, tool_response={"stdout": "", "stderr": ""}),
            "end": hook("Stop"),
        }
        rounds = []
        for _ in range(ROUNDS + 1):
            took = {}
            for name, part in parts.items():
                took[name] = milliseconds(part)
                if name in ("request", "end"):  # the model thinks, the person reads: nobody waits for what is done then
                    took[f"seen after the {name}"] = milliseconds(lambda: take_in(store))
            rounds.append(took)
        del rounds[0]
        turns = [sum(r[name] for name in parts) - r["git status"] for r in rounds]
        ratio = statistics.median(turn / r["git status"] for turn, r in zip(turns, rounds, strict=True))
        for name in rounds[0]:
            print(f"{name:22} {statistics.median(r[name] for r in rounds):7.1f} ms")
        print(f"{'turn':22} {statistics.median(turns):7.1f} ms, {ratio:.1f} times git status; {files} files, {changed} changed")
        for line in dict.fromkeys(line.split(" ", 1)[1] for line in store.errors()):
            print(f"said: {line}")
        return 0 if ratio <= MOST_TIMES and statistics.median(turns) <= MOST_MS else 1


if __name__ == "__main__":
    sys.exit(main(*(int(word) for word in (sys.argv[1:] + ["5000", "20"][len(sys.argv) - 1 :]))))
