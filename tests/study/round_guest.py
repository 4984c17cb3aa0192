"""Runs inside the sandbox image: plays shell commands and skills on small workspaces and prints what came of them as JSON.

Reads one JSON list of jobs on stdin: ``{"workspace", "commands"}`` or ``{"workspace", "skill", "args", "times", "api"}``.
Standard library only.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path("/tmp/play")
WORKSPACE = ROOT / "ws"

DRIVER = """
import asyncio, importlib.util, inspect, json, sys
spec = importlib.util.spec_from_file_location("skill", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["skill"] = module
spec.loader.exec_module(module)
found = [f for f in vars(module).values() if hasattr(f, "__skill_command__")]
value = found[0](**json.loads(sys.argv[2]))
value = asyncio.run(value) if inspect.isawaitable(value) else value
open(sys.argv[3], "w").write(json.dumps(value))
"""


def entry(path: Path) -> dict[str, Any]:
    mode = f"{path.lstat().st_mode & 0o7777:04o}"
    if path.is_symlink():
        return {"type": "symlink", "target": str(path.readlink())}
    if path.is_dir():
        return {"type": "dir", "mode": mode}
    return {"type": "file", "mode": mode, "content_b64": base64.b64encode(path.read_bytes()).decode()}


def snapshot() -> dict[str, Any]:
    return {os.fsdecode(p.relative_to(WORKSPACE)): entry(p) for p in sorted(WORKSPACE.rglob("*"))}


def clear() -> None:
    with contextlib.suppress(FileNotFoundError):
        for p in ROOT.rglob("*"):
            if p.is_dir() and not p.is_symlink():
                p.chmod(0o755)
        shutil.rmtree(ROOT)
    WORKSPACE.mkdir(parents=True)
    (ROOT / "home").mkdir()


def materialise(workspace: dict[str, Any]) -> None:
    clear()
    modes = []
    for name, value in sorted(workspace.items()):
        what = {"type": "file", "text": value} if isinstance(value, str) else value
        path = WORKSPACE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if what.get("type") == "symlink":
            path.symlink_to(what["target"])
            continue
        if what.get("type") == "dir":
            path.mkdir(exist_ok=True)
        else:
            data = what["text"].encode() if "text" in what else base64.b64decode(what.get("content_b64", ""))
            path.write_bytes(data)
        modes.append((path, int(what.get("mode", "0755" if what.get("type") == "dir" else "0644"), 8)))
    for path, mode in reversed(modes):
        path.chmod(mode)


def commands(job: dict[str, Any]) -> dict[str, Any]:
    materialise(job["workspace"])
    before = snapshot()
    cwd, cwds, outputs, errors, codes = WORKSPACE, [], [], [], []
    began = time.monotonic()
    for command in job["commands"]:
        cwds.append(str(cwd.relative_to(WORKSPACE)))
        report = ROOT / "pwd"
        script = f"trap 'pwd -P > \"{report}\"' EXIT\n{command}"
        argv = ["bash", "-c", script]
        done = subprocess.run(argv, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)
        outputs.append((done.stdout + done.stderr).decode("utf-8", "replace"))
        errors.append(done.stderr.decode("utf-8", "replace"))
        codes.append(done.returncode)
        new = Path(report.read_text().strip()) if report.exists() else cwd
        cwd = new if new.is_dir() and (new == WORKSPACE or WORKSPACE in new.parents) else WORKSPACE
    took = round((time.monotonic() - began) * 1000, 2)
    said = {"outputs": outputs, "stderrs": errors, "exit_codes": codes, "cwds": cwds, "ms": took}
    return {"before": before, "after": snapshot(), **said}


def skill(job: dict[str, Any]) -> dict[str, Any]:
    materialise(job["workspace"])
    (ROOT / "skill_api.py").write_text(job["api"])
    (ROOT / "skill.py").write_text(job["skill"])
    before = snapshot()
    runs = []
    for _ in range(job.get("times", 1)):
        value = ROOT / "value"
        value.unlink(missing_ok=True)
        argv = [sys.executable, "-c", DRIVER, str(ROOT / "skill.py"), json.dumps(job["args"]), str(value)]
        env = {"PATH": os.environ["PATH"], "HOME": str(ROOT / "home"), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8", "TZ": "UTC"}
        try:
            done = subprocess.run(
                argv, cwd=WORKSPACE, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, env=env, check=False
            )
            raised = "" if done.returncode == 0 else done.stderr.decode("utf-8", "replace")[-400:]
        except subprocess.TimeoutExpired:
            raised = "no end within 10 s"
        said = json.loads(value.read_text()) if value.exists() else None
        runs.append({"value": said, "raised": raised, "after": snapshot()})
    return {"before": before, "runs": runs}


def main() -> None:
    os.umask(0o022)
    jobs = json.load(sys.stdin)
    json.dump([commands(j) if "commands" in j else skill(j) for j in jobs], sys.stdout)


main()
