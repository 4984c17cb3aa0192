"""The part of the progress bar that says what happens. Apart from ``console``, which must not load what draws."""

from __future__ import annotations

from rich.progress import ProgressColumn, Task
from rich.text import Text


class StepColumn(ProgressColumn):
    """The current step, and beside it what changes while it goes on: that is asked at each drawing."""

    def render(self, task: Task) -> Text:
        beside = task.fields.get("beside")
        return Text(task.description + (beside() if beside is not None else ""), no_wrap=True, overflow="ellipsis")
