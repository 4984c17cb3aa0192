"""GitLab code quality: the subset of the Code Climate format that a merge request shows.

Source: GitLab's documentation, "Code Quality", "Code Quality report format".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sandbox.interface import JsonValue
from verifiers.formats.json_report import dump
from verifiers.formats.page import Page
from verifiers.formats.sarif import results

_SEVERITY = {"error": "critical", "warning": "major", "note": "info"}


def render(page: Page) -> str:
    """Returns one JSON list: what SARIF has as results, waived ones left out, the worst first."""
    return dump(list(_issues(page))) + "\n"


def _issues(page: Page) -> Iterator[JsonValue]:
    for result in results(page):
        row: dict[str, Any] = dict(result)
        if row.get("suppressions"):
            continue
        place = row["locations"][0]["physicalLocation"]
        yield {
            "description": row["message"]["text"],
            "check_name": row["ruleId"],
            "fingerprint": row["partialFingerprints"]["primaryLocationLineHash"],
            "severity": _SEVERITY[row["level"]],
            "location": {"path": place["artifactLocation"]["uri"], "lines": {"begin": place["region"]["startLine"]}},
        }
