"""What to do about a task that did not become a skill, as one command line or one sentence."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from synth.cli import console

if TYPE_CHECKING:
    from synth.config import Config
    from synth.crystallization.outcome import PatternOutcome


def next_step(outcome: PatternOutcome, kept: Path | None, least: int, registry: Path | None = None) -> str:
    """The next step; "" for what is registered and leaves no question.

    Args:
        kept: The directory of its draft, where there is one.
        least: Usable recordings that a skill needs.
        registry: The one that was named.
    """
    from verifiers.formats.text import plural

    where = f" --registry {shlex.quote(str(registry))}" if registry is not None else ""
    if outcome.ending == "registered":
        asked = len(outcome.report.questions) if outcome.report is not None else 0
        left = f"it leaves {plural(asked, 'question')}: assay verify {outcome.skill}{where}"
        return f"{left}, then assay answer {outcome.skill} 1{where}" if asked else ""
    if kept is not None:
        place = shlex.quote(str(kept))
        asked = len(outcome.report.questions) if outcome.report is not None else 0
        answer = f"; answer its {asked} questions: assay answer {place} N" if asked > 1 else ""
        answer = answer or (f"; answer its question: assay answer {place} 1" if asked else "")
        return f"draft kept in {place}: mend it, then assay registry add {place}{where}{answer}"
    if outcome.ending == "no-candidate":
        return "record it in simpler commands, or let a model try: --generator anthropic"
    usable = len(outcome.task_ids) - len(outcome.unused)
    if usable < least:
        return f"record it {plural(least - usable, 'more time')}, on other data: assay record --task TEXT -- COMMAND"
    return "see what is missing: assay engine status"


DRAFTS = "{PRJ_DATA}/drafts"
"""Where the drafts of what was refused are kept."""
REFUSED = "{PRJ_DATA}/refused.jsonl"
"""Of which recordings nothing came, a line each, with the version that tried."""


def keep_refusal(outcome: PatternOutcome, settings: Config) -> None:
    """Notes that nothing came of these recordings, so that they are due again only with a new one, or for another version."""
    settled = outcome.ending in ("refused", "no-candidate") or (outcome.ending == "inconclusive" and outcome.report is not None)
    if not settled or frozenset(outcome.task_ids) in refused(settings):
        return
    file = settings.path(REFUSED)
    line = json.dumps({"task_ids": sorted(outcome.task_ids), "version": metadata.version("skill-assay")})
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as notes:
            notes.write(f"{line}\n")
    except OSError as e:
        console.error(f"{file}: what was refused cannot be noted: {e.strerror}")


def refused(settings: Config) -> tuple[frozenset[str], ...]:
    """The recordings of each task of which nothing came with this version."""
    return tuple(_refused(settings.path(REFUSED)))


def _refused(file: Path) -> Iterator[frozenset[str]]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return  # nothing was refused, or nobody can tell
    for line in lines:
        try:
            found = json.loads(line)
            if found["version"] == metadata.version("skill-assay"):
                yield frozenset(map(str, found["task_ids"]))
        except (ValueError, TypeError, KeyError):
            continue  # a line that a full disk cut off


def keep_draft(outcome: PatternOutcome, settings: Config) -> Path | None:
    """Writes the draft of a task that did not become a skill into the data directory; an edited one stays beside it."""
    from synth.draft import write_draft
    from verifiers.decisions import DecisionError

    if outcome.draft is None or outcome.ending == "registered":
        return None
    try:
        return write_draft(settings.path(DRAFTS), outcome.draft)
    except DecisionError as e:
        console.error(f"the draft of {outcome.task} cannot be kept: {e.diagnostics()}")
        return None
    except OSError as e:
        console.error(f"the draft of {outcome.task} cannot be kept in {e.filename}: {e.strerror}")
        return None
