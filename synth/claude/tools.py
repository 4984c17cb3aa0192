"""The two answers that a model can give, as tool schemas, and the check that an answer is one of them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from synth.claude.errors import Malformed, Refused, Truncated
from synth.claude.exchange import Answer

PROPOSE = "propose_skill"
DECLINE = "decline_task"

TOOLS: list[dict[str, Any]] = [
    {
        "name": PROPOSE,
        "description": "Propose one skill for the recorded task.",
        "input_schema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "The function's name: snake_case, a verb first."},
                "description": {"type": "string", "description": "What it does, one sentence."},
                "code": {"type": "string", "description": "The whole Python file."},
                "bindings": {
                    "type": "array",
                    "description": "For every recording, the arguments that make the skill do what it did.",
                    "items": {
                        "type": "object",
                        "properties": {"task_id": {"type": "string"}, "args": {"type": "object"}},
                        "required": ["task_id", "args"],
                    },
                },
                "notes": {"type": "string", "description": "What was left out of the recordings, and why."},
            },
            "required": ["name", "description", "code", "bindings"],
        },
    },
    {
        "name": DECLINE,
        "description": "Say that the recordings show no task that one idempotent skill could do.",
        "input_schema": {"type": "object", "properties": {"why": {"type": "string"}}, "required": ["why"]},
    },
]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class BindingFields(_Strict):
    task_id: str
    args: dict[str, JsonValue]


class Proposal(_Strict):
    """A proposed skill, of the right types; nothing more is known of it."""

    name: str = Field(min_length=1, max_length=200)
    description: str = Field(max_length=2000)
    code: str = Field(min_length=1, max_length=200_000)
    bindings: list[BindingFields] = Field(max_length=10_000)
    notes: str = Field(default="", max_length=10_000)


class Declined(_Strict):
    why: str = Field(max_length=2000)


def read(answer: Answer) -> Proposal | Declined:
    """The proposal in an answer.

    Raises:
        Refused: the model declined to answer at all.
        Truncated: it was cut off.
        Malformed: no tool call, several, an unknown one, or fields of wrong types.
    """
    if answer.stop_reason == "refusal":
        raise Refused("the model refused to answer", "Look at the traces: their content may be why")
    if answer.stop_reason in ("max_tokens", "model_context_window_exceeded"):
        raise Truncated(f"the answer was cut off ({answer.stop_reason})", "Shorten the traces, or crystallize fewer at a time")
    if answer.calls != 1 or answer.input is None:
        raise Malformed(f"expected one tool call, got {answer.calls}")
    kinds: dict[str | None, type[Proposal | Declined]] = {PROPOSE: Proposal, DECLINE: Declined}
    kind = kinds.get(answer.tool)
    if kind is None:
        raise Malformed(f"there is no tool {answer.tool!r}")
    try:
        return kind.model_validate(dict(answer.input))
    except ValidationError as e:
        first = e.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or answer.tool
        raise Malformed(f"{where}: {first['msg']}") from None
