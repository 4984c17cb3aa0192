"""The two answers that a model can give, as tool schemas, and the check that an answer is one of them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError

from synth.llm.errors import Malformed, Refused, Truncated
from synth.llm.exchange import Answer

PROPOSE = "propose_skill"
DECLINE = "decline_task"

_SCALARS = [{"type": kind} for kind in ("string", "integer", "number", "boolean", "null")]
_ARGUMENT = {
    "name": {"type": "string"},
    "value": {"anyOf": [*_SCALARS, {"type": "array", "items": {"type": "string"}}]},
}


def _object(**properties: Any) -> dict[str, Any]:
    """A schema of which every field is required and no other is allowed: what strict tools demand."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


_TOOLS: tuple[dict[str, Any], ...] = (
    {
        "name": PROPOSE,
        "description": "Propose one skill for the recorded task.",
        "input_schema": _object(
            name=_text("The function's name: snake_case, a verb first."),
            description=_text("What it does, one sentence."),
            code=_text("The whole Python file."),
            bindings={
                "type": "array",
                "description": "For every recording, the arguments that make the skill do what it did.",
                "items": _object(task_id={"type": "string"}, args={"type": "array", "items": _object(**_ARGUMENT)}),
            },
            notes=_text("What was left out of the recordings, and why; may be empty."),
        ),
    },
    {
        "name": DECLINE,
        "description": "Say that the recordings show no task that one idempotent skill could do.",
        "input_schema": _object(why=_text("Why not, one or two sentences.")),
    },
)


_GROUP: dict[str, Any] = {
    "name": "group_recordings",
    "description": "Say which recordings are the same task, done on other files or with other values.",
    "input_schema": _object(
        groups={
            "type": "array",
            "description": "Groups of two or more; a recording that is like no other is in none.",
            "items": _object(
                task=_text("What they all do, one sentence."), task_ids={"type": "array", "items": {"type": "string"}}
            ),
        }
    ),
}


def tools(purpose: str = "skill", strict: bool = True) -> list[dict[str, Any]]:
    """The tools as the service wants them.

    Args:
        purpose: ``skill`` or ``groups``.
        strict: Have it hold answers to the schemas; not every model can.
    """
    chosen = (_GROUP,) if purpose == "groups" else _TOOLS
    return [{**tool, "strict": True} for tool in chosen] if strict else [dict(tool) for tool in chosen]


def _pairs_as_object(value: object) -> object:
    """Arguments as an object, from the pairs that the schema asks for; other services give the object at once."""
    if not isinstance(value, list):
        return value
    if not all(isinstance(p, dict) and p.keys() == {"name", "value"} and isinstance(p["name"], str) for p in value):
        raise ValueError("each argument needs a name and a value")
    names = [p["name"] for p in value]
    if len(set(names)) < len(names):
        raise ValueError("an argument is there twice")
    return {p["name"]: p["value"] for p in value}


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class BindingFields(_Strict):
    task_id: str
    args: Annotated[dict[str, JsonValue], BeforeValidator(_pairs_as_object)]


class Proposal(_Strict):
    """A proposed skill, of the right types; nothing more is known of it."""

    name: str = Field(min_length=1, max_length=200)
    description: str = Field(max_length=2000)
    code: str = Field(min_length=1, max_length=200_000)
    bindings: list[BindingFields] = Field(max_length=10_000)
    notes: str = Field(default="", max_length=10_000)


class Declined(_Strict):
    why: str = Field(max_length=2000)


class GroupFields(_Strict):
    task: str
    task_ids: list[str]


class Groups(_Strict):
    groups: list[GroupFields] = Field(max_length=1_000)


_KINDS: dict[str, type[Proposal | Declined | Groups]] = {PROPOSE: Proposal, DECLINE: Declined, "group_recordings": Groups}


def read(answer: Answer) -> Proposal | Declined | Groups:
    """What a whole answer holds.

    Raises:
        Refused: the model declined to answer at all.
        Truncated: it was cut off.
        Malformed: no tool call, several, an unknown one, or fields of wrong types.
    """
    match answer.stop_reason:
        case "refusal":
            said = " ".join(answer.text.split())[:400]
            raise Refused(
                "the model refused to answer" + (f": {said}" if said else ""), "Look at the traces: their content may be why"
            )
        case "max_tokens":
            raise Truncated(
                "the answer was cut off at its limit of tokens", "Raise it with --llm-max-output, or lower llm.effort"
            )
        case "model_context_window_exceeded":
            advice = "Shorten the traces, or crystallize fewer at a time"
            raise Refused("the recordings and the answer do not fit into the model's context", advice)
        case "pause_turn":
            raise Malformed("the answer stopped before it was finished")
    if answer.calls == 1 and answer.input is None and answer.tool is not None:
        raise Malformed("the arguments of the call are no JSON object")
    if answer.calls != 1 or answer.input is None:
        raise Malformed(f"expected one tool call, got {answer.calls}")
    kind = _KINDS.get(answer.tool or "")
    if kind is None:
        raise Malformed(f"there is no tool {answer.tool!r}")
    try:
        return kind.model_validate(dict(answer.input))
    except ValidationError as e:
        first = e.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or answer.tool
        raise Malformed(f"{where}: {first['msg']}") from None
