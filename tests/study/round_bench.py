"""Makes and proves a round of first contact: records its tasks with real commands and shows that each label is true.

    python tests/study/round_bench.py record ROUND_DIR      # task.json of each task -> evidence.jsonl
    python tests/study/round_bench.py check ROUND_DIR       # runs every skill on the recordings and on the task's worlds

It knows nothing of the judge. The format is in fixtures/first_contact/README.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
API = HERE.parents[1] / "sandbox/guest/skill_api.py"


def image() -> str:
    """The newest sandbox image on this machine."""
    argv = ["docker", "images", "--format", "{{.Repository}}:{{.Tag}}"]
    names = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
    return next(n for n in names if "assay" in n)


def play(jobs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Runs the jobs in one fresh container as the recording's user."""
    argv = ["docker", "run", "--rm", "-i", "--network", "none", "--user", "1000:1000", "--workdir", "/tmp"]
    argv += ["--tmpfs", "/tmp:exec,mode=1777", "-e", "LANG=C.UTF-8", "-e", "TZ=UTC", "-e", "HOME=/home/agent"]
    argv += ["--entrypoint", "python3", image(), "-c", (HERE / "round_guest.py").read_text()]
    done = subprocess.run(argv, input=json.dumps(jobs), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    return list(json.loads(done.stdout))


def tasks(root: Path) -> list[Path]:
    return sorted(p.parent for p in root.glob("*/task.json")) or ([root] if (root / "task.json").exists() else [])


def record(folder: Path) -> None:
    task = json.loads((folder / "task.json").read_text())
    played = play([{"workspace": t["workspace"], "commands": t["commands"]} for t in task["traces"]])
    lines = []
    for t, p in zip(task["traces"], played, strict=True):
        meta = {"source": task["source"], "license": task.get("license", "own"), "user": "uid 1000"}
        meta |= {"cwds": p["cwds"], "stderrs": p["stderrs"]}
        lines.append({
            "task_id": t["task_id"], "task_description": t["task_description"],
            "commands": t["commands"], "outputs": p["outputs"],
            "exit_codes": p["exit_codes"], "success": t.get("success", True), "duration_ms": p["ms"],
            "timestamp": t.get("timestamp", "2026-11-22T09:00:00+00:00"), "metadata": meta,
            "workspace": p["before"], "post_workspace": p["after"],
        })  # fmt: skip
        changed = "changed" if p["before"] != p["after"] else "NO CHANGE"
        print(f"  {t['task_id']}: exit {p['exit_codes']}, {changed}, last output {p['outputs'][-1][:80]!r}")
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (folder / "evidence.jsonl").write_text(text, encoding="utf-8")


def bindings(task: dict[str, Any], label: dict[str, Any]) -> dict[str, Any]:
    given = label.get("bindings", {})
    return {t["task_id"]: given.get(t["task_id"]) or {"args": arguments(label, t["values"])} for t in task["traces"]}


def arguments(label: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    return {parameter: values[role] for parameter, role in label["parameters"].items() if role in values}


def wrong(world: dict[str, Any], seen: dict[str, Any], wanted: Sequence[dict[str, Any]]) -> str:
    """Why a run is not what the world accepts; "" if it is."""
    reasons = []
    for accept, after in zip(world["accept"], wanted, strict=True):
        reason = one_wrong(accept, seen, after)
        if not reason:
            return ""
        reasons.append(reason)
    return "; ".join(reasons)


def failed(run: dict[str, Any]) -> bool:
    value = run["value"] if isinstance(run["value"], dict) else {}
    said = value.get("ok") is False or value.get("success") is False or value.get("status") == "error" or bool(value.get("error"))
    return bool(run["raised"]) or said


def one_wrong(accept: dict[str, Any], seen: dict[str, Any], after: dict[str, Any]) -> str:
    first, last = seen["runs"][0], seen["runs"][-1]
    if accept.get("raises"):
        return "" if failed(first) and first["after"] == seen["before"] else "it does not refuse and leave all as it was"
    if failed(first) or failed(last):
        return f"it fails: {(first['raised'] or last['raised'] or str(first['value']))[-160:]}"
    for run in (first, last):
        paths = sorted(p for p in {*run["after"], *after} if run["after"].get(p) != after.get(p))
        if paths:
            return f"other result at {paths[:3]}"
        if "answer" in accept and answer(run["value"]) != accept["answer"]:
            return f"answer {answer(run['value'])!r}"
    return ""


def answer(value: Any) -> Any:
    if isinstance(value, dict):
        value = next((value[k] for k in ("output", "answer", "value", "result", "stdout") if k in value), None)
    value = "\n".join(map(str, value)) if isinstance(value, list) else value
    return str(value).strip()


def check(folder: Path) -> int:
    """Proves a task's labels; returns the number of untrue ones."""
    task = json.loads((folder / "task.json").read_text())
    evidence = [json.loads(line) for line in (folder / "evidence.jsonl").read_text(encoding="utf-8").splitlines()]
    worlds = json.loads((folder / "worlds.json").read_text()) if (folder / "worlds.json").exists() else []
    labels = {p.parent.name: json.loads(p.read_text()) for p in sorted(folder.glob("*/label.json"))}
    api = API.read_text()
    wanted = {w["name"]: [wanted_tree(w, a) for a in w["accept"]] for w in worlds}
    jobs, what = [], []
    for name, label in labels.items():
        code = (folder / name / "skill.py").read_text(encoding="utf-8")
        bound = bindings(task, label)
        (folder / name / "bindings.json").write_text(json.dumps(bound, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        for e in evidence:
            jobs.append({"workspace": e["workspace"], "skill": code, "args": bound[e["task_id"]]["args"], "times": 2, "api": api})
            what.append((name, "recorded", e))
        for w in worlds:
            args = (w.get("args") or {}).get(name) or arguments(label, w["values"])
            jobs.append({"workspace": w["workspace"], "skill": code, "args": args, "times": w.get("times", 1), "api": api})
            what.append((name, "world", w))
    played = play([*jobs, *({"workspace": a, "commands": ["true"]} for w in worlds for a in wanted[w["name"]])])
    trees = iter(p["before"] for p in played[len(jobs) :])
    after = {w["name"]: [next(trees) for _ in wanted[w["name"]]] for w in worlds}
    missed: dict[str, list[str]] = {name: [] for name in labels}
    for (name, kind, situation), seen in zip(what, played, strict=False):
        if kind == "recorded":
            why = one_wrong({}, seen, situation["post_workspace"])
            if why:
                missed[name].append(f"recording {situation['task_id']}: {why}")
        elif why := wrong(situation, seen, after[situation["name"]]):
            missed[name].append(f"world {situation['name']}: {why}")
    untrue = 0
    for name, label in labels.items():
        good = label["expect"] == "PASS"
        shown = any(m.startswith(f"world {label.get('world')}:") for m in missed[name]) or bool(label.get("shown"))
        bad = bool(missed[name]) if good else not shown
        untrue += bad
        if bad:
            print(f"  UNTRUE {folder.name}/{name} ({label['expect']}): {'; '.join(missed[name]) or 'no world shows the fault'}")
        elif not good and any(m.startswith("recording") for m in missed[name]):
            print(f"  note   {folder.name}/{name}: wrong on a recording too (too easy to catch?)")
    good = sum(x["expect"] == "PASS" for x in labels.values())
    print(f"{folder.name}: {good} correct, {len(labels) - good} wrong, {len(worlds)} worlds, {untrue} untrue labels")
    return untrue


def wanted_tree(world: dict[str, Any], accept: dict[str, Any]) -> dict[str, Any]:
    """The workspace that an accepted outcome leaves: a whole one, or the start with changes (null removes a path)."""
    if "post" in accept:
        return dict(accept["post"])
    changed = {**world["workspace"], **accept.get("changes", {})}
    return {p: v for p, v in changed.items() if v is not None}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=("record", "check"))
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    untrue = 0
    for folder in tasks(given.folder):
        if given.action == "record":
            print(folder.name)
            record(folder)
        else:
            untrue += check(folder)
    sys.exit(1 if untrue else 0)


if __name__ == "__main__":
    main()
