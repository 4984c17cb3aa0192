"""GitLab code quality: the subset of the Code Climate format that a merge request shows.

Source: GitLab's documentation, "Code Quality", "Code Quality report format".
"""

from __future__ import annotations

from collections.abc import Iterator

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
        if result.get("suppressions"):
            continue
        place = result["locations"][0]["physicalLocation"]  # type: ignore[index,call-overload]  # as made by sarif
        yield {
            "description": result["message"]["text"],  # type: ignore[index,call-overload]
            "check_name": result["ruleId"],
            "fingerprint": result["partialFingerprints"]["primaryLocationLineHash"],  # type: ignore[index,call-overload]
            "severity": _SEVERITY[str(result["level"])],
            "location": {
                "path": place["artifactLocation"]["uri"],  # type: ignore[index,call-overload]
                "lines": {"begin": place["region"]["startLine"]},  # type: ignore[index,call-overload]
            },
        }
