"""The one module that knows ``gepa``. Which version the next proposal starts from is its choice; it talks to no model itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gepa.api import optimize
from gepa.core.adapter import EvaluationBatch, ProposalFn

CODE = "skill.py"
"""The one component that is improved."""

Data = Mapping[str, Any]


@dataclass
class _Adapter:
    """A ``gepa`` adapter whose instances are task_ids."""

    metric: Callable[[str], Mapping[str, float]]
    feedback: Callable[[str], Data]
    propose_new_texts: ProposalFn | None = None

    def evaluate(self, batch: list[str], candidate: dict[str, str], capture_traces: bool = False) -> EvaluationBatch[str, None]:
        found = self.metric(candidate[CODE])
        scores = [found[task_id] for task_id in batch]
        return EvaluationBatch(outputs=[None] * len(batch), scores=scores, trajectories=list(batch) if capture_traces else None)

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: EvaluationBatch[str, None], components_to_update: list[str]
    ) -> Mapping[str, Sequence[Data]]:
        return {CODE: [self.feedback(candidate[CODE])]}


class _Silent:
    def log(self, message: str) -> None:
        """What happens is said where it happens."""


def optimise(
    seed: str,
    task_ids: Sequence[str],
    metric: Callable[[str], Mapping[str, float]],
    feedback: Callable[[str], Data],
    propose: Callable[[str, Data], str | None],
    ended: Callable[[], bool],
) -> None:
    """Has better code proposed until ``ended``. The same answers lead to the same requests.

    Args:
        seed: The code to begin with.
        task_ids: The recordings that may be shown.
        metric: task_id -> how good a code is on it.
        feedback: What is known of a code.
        propose: Code made from some code and its feedback; None where there is none.

    Raises: what ``metric`` and ``propose`` raise.
    """

    failed: list[BaseException] = []

    def proposed(
        candidate: dict[str, str], reflective_dataset: Mapping[str, Sequence[Data]], components_to_update: list[str]
    ) -> dict[str, str]:
        if failed:  # it is called once more for the same
            raise failed[0]
        try:
            code = propose(candidate[CODE], reflective_dataset[CODE][0])
        except BaseException as e:
            failed.append(e)  # gepa logs what a proposer raises, and goes on
            raise
        return {CODE: code} if code is not None else {}

    optimize(
        seed_candidate={CODE: seed}, trainset=list(task_ids), valset=list(task_ids), adapter=_Adapter(metric, feedback),
        custom_candidate_proposer=proposed, reflection_minibatch_size=len(task_ids), skip_perfect_score=False,
        stop_callbacks=lambda state: bool(failed) or ended(), logger=_Silent(), raise_on_exception=True,
    )  # fmt: skip
    if failed:
        raise failed[0]
