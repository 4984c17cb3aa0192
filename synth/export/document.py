"""Markdown about a skill, made of verified facts, with everything that a trace or a model said made harmless.

Hosts run parts of such texts: inline ``!`cmd` `` and fenced ``!`` blocks go to a shell, ``$ARGUMENTS``, ``$0`` and ``${..}`` are
substituted, HTML is shown. None of these can come out of foreign words here, and ``unsafe`` looks again at the whole text.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import yaml

from synth.export.source import ExportError, Skill
from verifiers.formats.text import bound, does
from verifiers.interface import Args, Decision, Subject

MAX_EXAMPLES = 3
_ESCAPED = re.compile(r"[\\*\[\]|~]|(?<![^\W_])_|_(?![^\W_])|^[#+=-]")
"""What Markdown would take for structure: underscores only at a word's edge, list and heading signs only at the start."""
_PLACEHOLDER = re.compile(r"<(\w+)>")
_NEUTRAL = str.maketrans("`", "'")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "$": "&#36;", "!": "&#33;"}
_MEANT = re.compile(r"<(?=[A-Za-z!/?])|^>|&(?=#?\w+;)|\$(?=[A-Z\d{])|!$")
"""What a reader might take for a tag, a quotation, an entity, a placeholder of its own, or the mark before a command."""
_UNSAFE = {
    "an inline command": re.compile(r"!\s*`"),
    "a command block": re.compile(r"^\s*(`{3,}|~{3,})\s*!", re.MULTILINE),
    "a placeholder": re.compile(r"\$(ARGUMENTS|\d|\{)"),
    "HTML": re.compile(r"<[A-Za-z!/?]"),
}


def prose(text: str) -> str:
    """Foreign words as one line of Markdown text that reads the same, raw and shown, and does nothing."""
    escaped = _ESCAPED.sub(r"\\\g<0>", named(_flat(text)).translate(_NEUTRAL))
    return _MEANT.sub(lambda found: _ENTITIES[found[0]], escaped)


def named(text: str) -> str:
    """A text with the places of its parameters, ``<old_ext>``, as a manual prints them: ``OLD_EXT``."""
    return _PLACEHOLDER.sub(lambda found: found[1].upper(), text)


def bare(text: str) -> str:
    """A text for front matter, where angle brackets can be escaped for no reader: some refuse them."""
    return re.sub(r"[<>]", "", named(text).replace("->", "→"))


def ended(text: str) -> str:
    """A text as a sentence: with a full stop, where it does not end as a question does."""
    plain = text.rstrip(".")
    return plain if plain.endswith(("?", "!")) else f"{plain}."


def _flat(text: str) -> str:
    """One line, without control characters."""
    return " ".join("".join(c if unicodedata.category(c)[0] != "C" or c.isspace() else " " for c in text).split())


def code(value: object) -> str:
    """A JSON value as a code span; characters that mean something to a host are written as JSON escapes."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    unsafe = {"`", "$", "<", ">", "!", "&", "\u2028", "\u2029"}
    return (
        "`"
        + "".join(
            f"\\u{ord(c):04x}" if c in unsafe or (unicodedata.category(c)[0] == "C" and ord(c) < 0x10000) else c for c in text
        )
        + "`"
    )


def unsafe(text: str) -> list[str]:
    """What in a Markdown text a host might run, substitute or render."""
    return [what for what, pattern in _UNSAFE.items() if pattern.search(text)]


def checked(text: str, where: str, ours: str = "") -> str:
    """``text``, if nothing in it is unsafe.

    Args:
        ours: What we wrote for the host to substitute; as a foreign word ``prose`` has escaped it.

    Raises:
        ExportError: names what is.
    """
    found = unsafe(text.replace(ours, "") if ours else text)
    if found:
        raise ExportError(f"its text would hold {', '.join(found)}", "Change the skill's description", where)
    return text


def front_matter(fields: Mapping[str, Any]) -> str:
    """YAML between two ``---`` lines, in block style (the strict reader knows no other), with nothing that ends it early."""
    text = yaml.safe_dump(_plain(fields), sort_keys=False, allow_unicode=True, default_flow_style=False, width=100_000)
    return f"---\n{text}---\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_plain(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, str):
        return re.sub(r"-{3,}", "--", re.sub(r"\$(?=[A-Z0-9{])", "", bare(_flat(value)).translate(_NEUTRAL)))
    return value


def skill_md(skill: Skill, fields: Mapping[str, Any], usage: str) -> str:
    """A whole ``SKILL.md``: front matter, then what the skill does, how to call it, parameters, examples, limits.

    Args:
        fields: The front matter.
        usage: Markdown of the usage section, ours.

    Raises:
        ExportError: something unsafe would be in it.
    """
    lines = [f"# {prose(skill.entry.name)}", "", prose(skill.summary), "", "## Usage", "", usage.strip(), "", *facts(skill)]
    return checked(front_matter(fields) + "\n" + "\n".join(lines).rstrip() + "\n", skill.entry.name)


def facts(skill: Skill) -> Iterator[str]:
    """Lines: parameters, examples and limits."""
    yield from parameters(skill.subject)
    yield from preconditions(skill.draft.decisions)
    judged = skill.document["bindings"]
    yield from examples((t.task_description, judged[t.task_id]["args"]) for t in skill.draft.evidence if t.task_id in judged)
    yield from _limits(skill)


def parameters(subject: Subject) -> Iterator[str]:
    """A table of the parameters; nothing where there are none."""
    if not subject.parameters:
        return
    yield from ("## Parameters", "", "| name | type | required | meaning |", "|---|---|---|---|")
    for p in subject.parameters:
        required = "yes" if p.required else f"no, default {code(p.default)}"
        yield f"| `{p.name}` | {prose(p.annotation)} | {required} | {prose(p.description)} |"
    yield ""


def preconditions(decisions: Iterable[Decision]) -> Iterator[str]:
    """What must hold before a call: somebody decided that a start which breaks it is not to be expected."""
    asked = [d.question for d in decisions if d.says == "invalid"]
    if not asked:
        return
    yield from ("## Preconditions", "", "It was decided that these are not to be expected; nothing is promised there.", "")
    yield from dict.fromkeys(f"- {prose(q.message)} (breaks: {prose(q.invariant)})" for q in asked)
    yield ""


def examples(judged: Iterable[tuple[str, Args]]) -> Iterator[str]:
    """Requests that were really made, with the arguments under which a replay had the recorded effect."""
    shown = list(islice(judged, MAX_EXAMPLES))
    if not shown:
        return
    yield from ("## Examples", "", "Each was replayed in the sandbox with these arguments, with the recorded effect.", "")
    yield from (f"- {prose(request)}: {code(args)}" for request, args in shown)
    yield ""


def asked(skill: Skill) -> str:
    """How people asked for it, with parameters in the place of their values: words that a host can search."""
    bindings = skill.draft.bindings
    found = dict.fromkeys(_open(t.task_description, bindings.get(t.task_id, {})) for t in skill.draft.evidence)
    return "; ".join(text.strip().rstrip(".") for text in list(found)[:MAX_EXAMPLES])


def _open(request: str, args: Args) -> str:
    """A request with a parameter's name where it says the value."""
    names = {str(value): name for name, value in args.items() if str(value).strip()}
    words = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.sub(rf"(?<!\w)({words})(?!\w)", lambda told: f"<{names[told[0]]}>", request) if words else request


def _limits(skill: Skill) -> Iterator[str]:
    document = skill.document
    yield from ("## Limits", "", "It does what its evidence shows; that is not a proof.", "")
    yield f"- Judged on {skill.usable} recorded traces; score at least {bound(skill.entry.score)} (with 95 % confidence)."
    if document["evidence"]["reconstructed"]:
        yield f"- The start of {document['evidence']['reconstructed']} of them was reconstructed from commands and outputs."
    yield f"- As far as was seen it {prose(', '.join(map(does, document['capabilities'])))}."
    for check in document["checks"]:
        # What is only information is for who judges, but for a parameter whose use no recording shows.
        told = (f for f in check.get("findings", ()) if f.get("severity") == "warning" or f.get("rule") == "unpinned")
        notes = [str(f.get("message", "")) for f in told]
        yield from (f"- {check['id']}: {prose(text)}" for text in notes[:3])
    for missing in document["not_checked"]:
        yield f"- Not checked: {prose(missing['id'])} ({prose(missing['why'])})."
    yield ""
