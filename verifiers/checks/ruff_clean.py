"""Does ruff find nothing?"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from verifiers.interface import CheckResult, Example, Finding, Fix, Stage, Subject, Verdict
from verifiers.source.lint_notes import note
from verifiers.source.tools import module_name, run_tool, tool_command, tool_version, written
from verifiers.subject import ParseProblem, parse_module, source_lines

SELECT = (
    "E4", "E7", "E9", "F", "W605", "PLE", "S", "T10",
    "B002", "B003", "B004", "B006", "B008", "B010", "B012", "B013", "B014", "B015", "B016", "B017", "B018", "B020", "B021",
    "B022",
    "B023", "B025", "B026", "B029", "B030", "B032", "B033", "B035", "B039", "ASYNC100", "ASYNC105", "ASYNC115",
)  # fmt: skip
"""Pinned: ruff's own defaults grow between versions. Defects and security, no taste, no guesses at what runs show."""
IGNORE: Mapping[str, str] = {
    "S404": "importing subprocess is no defect",
    "S603": "flags every subprocess call without a shell, also the right one",
    "S607": "flags `chmod` for not being `/bin/chmod`",
    "S103": "flags mode bits that a chmod skill is there to set",
    "S311": "random numbers that are no secret; whether a skill is deterministic is measured",
    "S324": "flags every checksum, also where the checksum is the task",
    "S105": 'takes `token = "[ERROR]"` for a password',
    "S106": "as S105",
    "S107": "as S105",
    **dict.fromkeys(
        ("S313", "S314", "S315", "S316", "S317", "S318", "S319", "S405", "S406", "S407", "S408", "S409"),
        "XML of the workspace; the standard library has nothing else to read it with",
    ),
    "S602": "a constant shell program is allowed; conventions-shell-text refuses the others",
    "S604": "as S602",
    "S605": "as S602",
    "E731": "taste",
    "E741": "taste",
}
"""Rules of the selected groups that are off, with the reason."""
HOST_ERRORS = ("F", "E9", "PLE", "invalid-syntax")
"""What is an error in the `omni` profile too: code that cannot work, or is not used. The rest is our house's taste."""
_CONFIG = 'lint.flake8-bugbear.extend-immutable-calls=["Query", "skill_api.Query"]'
_HEAD = "from pathlib import Path\n\nfrom skill_api import Query, skill_command\n\n\n@skill_command(autowire=True)\n"
_DEF = 'async def touch(file: str = Query(..., description="Path")) -> dict[str, object]:\n'
_BARE = 'async def touch(file: str) -> dict[str, object]:\n    Path(file).touch()\n    return {"ok": True}\n'
_SQL = (
    "import sqlite3\n\nfrom skill_api import Query, skill_command\n\n\n@skill_command(autowire=True)\n"
    + _DEF
    + "    name = NAME\n    query = 'SELECT count(*) FROM \"' + name + '\"'\n"
    + '    return {"ok": True, "n": sqlite3.connect("a.db").execute(query).fetchone()[0]}\n'
)


class RuffClean:
    id = "ruff-clean"
    title = "Does ruff, with a pinned selection that includes the security rules, find nothing?"
    why = (
        f"The selection is fixed here and no configuration file is read: `{' '.join(SELECT)}`. Off are, with reasons: "
        + "; ".join(f"`{rule}` ({why})" for rule, why in IGNORE.items())
        + ". An `assert` that only looks at something (`S101`), SQL put together as text (`S608`: values that would leave their "
        "place in it are tried by `generalises`), a function that is called before its loop goes on (`B023`), and an "
        "unused import of the standard library (`F401`), are notes. In the `omni` profile what is none of "
        f"{', '.join(f'`{c}`' for c in HOST_ERRORS[:3])} only warns. Suppression comments (`# noqa`) are not honoured. "
        "Ruff's safe fixes are offered; `assay verify --fix` applies those that leave the function's own code as it is."
    )
    stage: ClassVar[Stage] = "static"
    version = 7
    good: ClassVar[tuple[Example, ...]] = (
        Example("clean", _HEAD + _DEF + '    Path(file).touch()\n    return {"ok": True}\n'),
        Example(
            "an invariant", _HEAD + _DEF + '    Path(file).touch()\n    assert Path(file).exists()\n    return {"ok": True}\n'
        ),
        Example("an unused import", "import os\n" + _HEAD + _DEF + '    Path(file).touch()\n    return {"ok": True}\n'),
        Example("a name of the interface", "from skill_api import Query\n" + _HEAD.replace("Query, ", "") + _BARE),
        Example(
            "a function that is called before its loop goes on",
            _HEAD
            + _DEF
            + '    for n in ("a", "b"):\n        Path(file + max([n], key=lambda x: x + n)).touch()\n    return {"ok": True}\n',
        ),
        Example("a table by its name, which is tried elsewhere", _SQL.replace("NAME", "file")),
    )
    bad: ClassVar[tuple[Example, ...]] = (
        Example("an assertion that acts", _HEAD + _DEF + '    assert Path(file).write_text("x")\n    return {"ok": True}\n'),
        Example("an undefined name", _HEAD + _DEF + '    Path(flie).touch()\n    return {"ok": True}\n'),
        Example(
            "a swallowed error",
            _HEAD + _DEF + '    try:\n        Path(file).touch()\n    except Exception:\n        pass\n    return {"ok": True}\n',
        ),
        Example("an undefined name, hidden", _HEAD + _DEF + '    Path(flie).touch()  # noqa\n    return {"ok": True}\n'),
    )

    def run_batch(self, subjects: Sequence[Subject]) -> list[CheckResult]:
        """One result a subject, in order; one process for all."""
        start = time.perf_counter()
        sources = {module_name(s): s.source for s in subjects if not isinstance(parse_module(s.source), ParseProblem)}
        found, trouble = diagnostics(sources) if sources else ({}, "")
        seconds = (time.perf_counter() - start) / max(len(subjects), 1)
        return [self._result(s, module_name(s) in sources, found.get(module_name(s), []), trouble, seconds) for s in subjects]

    def _result(self, subject: Subject, ran: bool, found: list[dict[str, Any]], trouble: str, seconds: float) -> CheckResult:
        if trouble or not ran:
            why = trouble or "the file does not parse"
            return CheckResult.inconclusive(self.id, why, [Finding(why, subject.path)])
        findings = tuple(_finding(subject, item) for item in found)
        failed = any(f.severity == "error" for f in findings)
        return CheckResult(self.id, Verdict.FAIL if failed else Verdict.PASS, findings, seconds=seconds)


def diagnostics(sources: Mapping[str, str], select: Sequence[str] = SELECT) -> tuple[dict[str, list[dict[str, Any]]], str]:
    """ruff's findings by file stem, in file order; and, instead of any, why there are none because ruff itself failed."""
    command = [
        *tool_command("ruff"), "check", "--isolated", "--no-cache", "--ignore-noqa", "--no-preview", "--target-version", "py311",
        "--no-respect-gitignore",
        "--output-format", "json", "--exit-zero", "--quiet", "--select", ",".join(select), "--ignore", ",".join(IGNORE),
        "--config", _CONFIG, ".",
    ]  # fmt: skip
    with written(dict(sources)) as folder:
        done = run_tool(command, folder)
    if done.exit_code != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        return {}, f"ruff {tool_version('ruff')} failed: {said[0] if said else f'exit code {done.exit_code}'}"
    by_file: dict[str, list[dict[str, Any]]] = {}
    for item in json.loads(done.stdout or "[]"):
        stem = str(item["filename"]).replace("\\", "/").rpartition("/")[2].removesuffix(".py")
        by_file.setdefault(stem, []).append(item)
    for items in by_file.values():
        items.sort(key=lambda i: (i["location"]["row"], i["location"]["column"], str(i["code"])))
    return by_file, ""


def _finding(subject: Subject, item: dict[str, Any]) -> Finding:
    code = str(item.get("code") or "invalid-syntax")
    line = int(item["location"]["row"])
    fix = item.get("fix")
    offered = None
    if fix:
        text = apply_edits(subject.source, fix["edits"])
        offered = Fix(fix["applicability"] == "safe", str(fix.get("message") or f"apply ruff's fix for {code}"), text)
    if reason := note(code, subject.source, line):
        return Finding(f"{item['message']} ({code}): {reason}", subject.path, line, "info", fix=offered, rule=code)
    hard = subject.profile == "seed" or code.startswith(HOST_ERRORS)
    return Finding(f"{item['message']} ({code})", subject.path, line, "error" if hard else "warning", fix=offered, rule=code)


def apply_edits(source: str, edits: Sequence[Mapping[str, Any]]) -> str:
    """The text after ruff's edits (1-based rows and columns, in characters), which never overlap."""
    starts = [0]
    for line in source_lines(source):
        starts.append(starts[-1] + len(line) + 1)

    def offset(place: Mapping[str, int]) -> int:
        row = min(place["row"] - 1, len(starts) - 1)
        return min(starts[row] + place["column"] - 1, len(source))

    spans = sorted(((offset(e["location"]), offset(e["end_location"]), e["content"] or "") for e in edits), reverse=True)
    for begin, end, content in spans:
        source = source[:begin] + content + source[end:]
    return source


CHECK = RuffClean()
