"""A badge: one small SVG image with the verdict, for a page that shows the last run."""

from __future__ import annotations

from verifiers.formats.page import Page
from verifiers.formats.text import plural
from verifiers.interface import Verdict

_COLOUR = {Verdict.PASS: "#2e7d32", Verdict.FAIL: "#c62828", Verdict.INCONCLUSIVE: "#8a6d00"}
_WIDE = 7
"""Pixels for a letter of 11 pixels' height, rounded up: a text that is too wide would be cut."""


def render(page: Page) -> str:
    """Returns an SVG: ``assay | 12 pass``, or what is worse, in the verdict's colour. It names nothing foreign."""
    counts = page.counts
    worst = page.verdict
    told = f"{counts[worst.name.lower()]} of {plural(sum(counts.values()), 'skill')} {worst.name}"
    edited = sum(bool(report.edited) for report in page.reports)
    told += f", {edited} edited" if edited else ""
    left, right = _WIDE * 5 + 10, _WIDE * len(told) + 10
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="assay: {told}">'
        f"<title>assay: {told}</title>"
        f'<rect width="{left}" height="20" fill="#444"/><rect x="{left}" width="{right}" height="20" fill="{_COLOUR[worst]}"/>'
        f'<g fill="#fff" font-family="Verdana,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{left / 2:g}" y="14">assay</text><text x="{left + right / 2:g}" y="14">{told}</text></g></svg>\n'
    )
