"""Round after round over one trace directory: every due pattern at first, then those that new traces belong to."""

from __future__ import annotations

from synth.detect.cache import PatternIndex
from synth.interface import TracePattern


class Watch:
    """What ``assay crystallize --every`` looks at. The index reads new files only, so a quiet round costs a directory listing."""

    def __init__(self, index: PatternIndex) -> None:
        self._index = index
        self._first = True
        self._again: set[str] = set()
        """task_ids of patterns that could not be settled."""

    def patterns(self) -> list[TracePattern]:
        """The patterns of this round.

        Raises:
            PatternIndexError: the index cannot be used.
        """
        if self._first:
            found = self._index.patterns()
            self._first = False
            return found
        fresh = self._index.refresh().read
        again, self._again = self._index.files_of(self._again), set()
        due = self._index.due_among([*fresh, *again])
        return [p for d in due if (p := self._index.load(d)) is not None]

    def again(self, pattern: TracePattern) -> None:
        """Takes a pattern up in the next round too: what kept it from being settled may be over by then."""
        self._again.add(pattern.traces[-1].task_id)
