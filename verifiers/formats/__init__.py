"""Reports as text: ``render(reports, format)``. Pure but for reading the skills' own lines for excerpts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from verifiers.formats.json_report import dump, report_to_json
from verifiers.interface import Report

if TYPE_CHECKING:
    from verifiers.formats.page import Page
    from verifiers.gating.gate import GateResult

Format = Literal["plain", "json", "sarif", "junit", "github", "html", "markdown", "gitlab", "badge"]
FORMATS: tuple[str, ...] = get_args(Format)
_MODULES = {f: f"verifiers.formats.{'html_page' if f == 'html' else f}" for f in FORMATS}
_MAX_SOURCE_BYTES = 1 << 20

__all__ = ["FORMATS", "Format", "render", "step_summary"]


def render(
    reports: Sequence[Report],
    format: str,
    *,
    color: bool = False,
    seconds: float | None = None,
    gate: GateResult | None = None,
    sources: Mapping[str, str] | None = None,
    titles: Mapping[str, str] | None = None,
) -> str:
    """Returns the reports in one format, ending in a newline.

    Args:
        format: ``plain``, ``json``, ``sarif``, ``junit``, ``github``, ``html``, ``markdown``, ``gitlab`` or ``badge``.
        color: terminal colours (``plain`` only).
        seconds: wall time of the whole command, for the summary.
        gate: the policy's verdicts on the same reports; JSON is then ``assay-gate/1``.
        sources: shown path -> text, for excerpts; None = read from the working directory.
        titles: check id -> its question; None = from the catalog.

    Raises:
        ValueError: no such format.
    """
    if format not in FORMATS:
        raise ValueError(f"no format {format!r} (there are {', '.join(FORMATS)})")
    if format == "json":
        return _json(reports, gate)
    from verifiers.formats.page import Page  # late, as the formats below: a cached gate in JSON needs none of them

    known = _read(reports) if sources is None else sources
    page = Page(reports, gate, known, _titles() if titles is None else titles, seconds, color)
    renderer: Callable[[Page], str] = import_module(_MODULES[format]).render
    return renderer(page)


def step_summary(reports: Sequence[Report], *, gate: GateResult | None = None, seconds: float | None = None) -> str:
    """Markdown for ``$GITHUB_STEP_SUMMARY``, within its limit."""
    from verifiers.formats import github, markdown
    from verifiers.formats.page import Page

    return github.fit_summary(markdown.render(Page(reports, gate, {}, {}, seconds)))


def _json(reports: Sequence[Report], gate: GateResult | None) -> str:
    if gate is not None:
        from verifiers.gating.gate import gate_to_json

        return dump(gate_to_json(gate)) + "\n"
    rows = [report_to_json(r) for r in reports]
    return dump(rows[0] if len(rows) == 1 else list(rows)) + "\n"


def _read(reports: Sequence[Report]) -> dict[str, str]:
    """Texts of the files that findings name. A file that changed or went away only costs its excerpt."""
    texts: dict[str, str] = {}
    named = {f.path for r in reports for c in r.checks for f in c.findings if f.path}
    for path in sorted(named):
        file = Path(path)
        try:
            if file.is_file() and file.stat().st_size <= _MAX_SOURCE_BYTES:
                texts[path] = file.read_text(encoding="utf-8", errors="replace")
        except (OSError, ValueError):
            continue
    return texts


def _titles() -> dict[str, str]:
    from verifiers.catalog import CATALOG  # late: checks import much, and JSON needs none of it

    return {"bindings": "Do the arguments come from the evidence?", **{check.id: check.title for check in CATALOG}}
