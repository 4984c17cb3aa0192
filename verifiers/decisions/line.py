"""``assay-decision/1``: a decision as one line of JSON, bound by a digest, with the whole question that it answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NoReturn, cast, get_args

from sandbox.interface import JsonValue, Snapshot
from sandbox.snapshot import ROOT
from verifiers.interface import Behaviour, Decided, Decision, GeneratedCase, Question, Says
from verifiers.typed_json import mapping, one_of, text, texts, whole

SCHEMA = "assay-decision/1"


def question_to_json(question: Question) -> dict[str, JsonValue]:
    """The JSON form of a question, trees in full: whoever has it can ask again, and answer."""
    case = question.case
    return {
        "invariant": question.invariant,
        "message": question.message,
        "harm": question.harm,
        "case": {"task_id": case.task_id, "args": dict(case.args), "workspace": _tree(case.base)},
        "commands": _behaviour(question.commands),
        "skill": _behaviour(question.skill),
    }


def question_from_json(data: Mapping[str, Any]) -> Question:
    """The question that ``question_to_json`` wrote.

    Raises:
        KeyError, TypeError, ValueError: a part is missing or of the wrong type.
    """
    case = mapping(data["case"])
    base = _read_tree(case, "workspace")
    return Question(
        invariant=text(data["invariant"]),
        message=text(data["message"]),
        case=GeneratedCase(text(case["task_id"]), base, mapping(case["args"])),
        commands=_read_behaviour(mapping(data["commands"])),
        skill=_read_behaviour(mapping(data["skill"])),
        harm=whole(data["harm"]),
    )


def dump_decision(decision: Decision) -> str:
    """The decision as one line, without its end."""
    row = _row(decision)
    return _canonical({**row, "digest": _digest(row)})


def digest_of(decision: Decision) -> str:
    """SHA-256 (hex) of all that a decision says, and about what; not when, so that equal decisions are equal."""
    return _digest(_row(decision))


def decided(decision: Decision) -> Decided:
    """What a report says of a decision."""
    return Decided(decision.says, decision.question.invariant, digest_of(decision), decision.who, decision.when)


def parse_decision(line: str) -> Decision:
    """The decision that ``dump_decision`` wrote.

    Raises:
        ValueError: the line is no JSON, of another schema, was edited, or has a part that is missing or wrong; says which.
    """
    try:
        row = mapping(json.loads(line, parse_constant=_no_constant))
        if row.get("schema") != SCHEMA:
            raise ValueError(f"expected schema {SCHEMA}, found {row.get('schema')!r}")
        told = row.pop("digest", None)
        if told not in (_digest(row), _sha256(row)):  # the second one is of before the time was left out
            raise ValueError("it was edited: its digest is another one")
        return _read(row)
    except json.JSONDecodeError as e:
        raise ValueError(f"it is not JSON ({e.msg} at column {e.colno})") from e
    except KeyError as e:
        raise ValueError(f"key {e} is missing") from e
    except (TypeError, RecursionError) as e:
        raise ValueError(str(e)) from e


def _read(row: Mapping[str, Any]) -> Decision:
    says = cast("Says", one_of(row["says"], get_args(Says)))
    said = text(row["text"])
    if (says == "neither") != bool(said.strip()):
        raise ValueError("'neither' needs a text that says what is right, and nothing else may have one")
    return Decision(question_from_json(row), says, said, text(row["who"]), text(row["when"]))


def _row(decision: Decision) -> dict[str, JsonValue]:
    said: dict[str, JsonValue] = {
        "schema": SCHEMA, "says": decision.says, "text": decision.text, "who": decision.who, "when": decision.when,
    }  # fmt: skip
    return {**said, **question_to_json(decision.question)}


def _digest(row: Mapping[str, JsonValue]) -> str:
    return _sha256({name: value for name, value in row.items() if name != "when"})


def _sha256(row: Mapping[str, JsonValue]) -> str:
    return hashlib.sha256(_canonical(row).encode()).hexdigest()


def _canonical(row: Mapping[str, JsonValue]) -> str:
    return json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _tree(tree: Snapshot) -> dict[str, JsonValue]:
    """As in traces, with the workspace's own mode where it is known. Sockets and devices have no such form: diffs name them."""
    kept: dict[str, JsonValue] = {p: dict(e) for p, e in tree.to_json().items() if e["type"] not in ("socket", "device")}
    root = tree.get(ROOT)
    if root is not None:
        kept[ROOT] = {"type": root.type, "mode": f"{root.mode:04o}"}
    return kept


def _behaviour(did: Behaviour) -> dict[str, JsonValue]:
    return {"failure": did.failure, "answer": did.answer, "diff": list(did.diff), "post_workspace": _tree(did.tree)}


def _read_behaviour(row: Mapping[str, Any]) -> Behaviour:
    answer = None if row["answer"] is None else text(row["answer"])
    return Behaviour(_read_tree(row, "post_workspace"), answer, text(row["failure"]), texts(row["diff"]))


def _read_tree(row: Mapping[str, Any], name: str) -> Snapshot:
    tree = Snapshot.from_json(row[name], name)
    tree.digest.encode()  # a name that no file can have is refused here, not where it is first used
    return tree
