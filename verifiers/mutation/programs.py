"""Operators on programs of another language inside a skill: quoting, options, stages and redirections of shell text."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from verifiers.conventions.model import literal
from verifiers.mutation.site import Edit, Site

_QUOTED = re.compile(r'"(\$(?:\{\w+\}|\w+|@))"')
_OPTION = re.compile(r"(?<=\s)(--?[A-Za-z][\w-]*)(?=\s|$)")
_STAGE = re.compile(r"\|\s*[^|&;()\n\"']+?(?=\||;|\n|&&|$|\))")
_SHELLISH = re.compile(r"[|;&<>$]|\b(for|while|if|mv|cp|rm|sed|find|grep|awk|sort|cat|echo|printf|mkdir)\b")


def shell_programs(site: Site) -> Iterator[Edit]:
    """Changes to text that a shell runs."""
    for node in site.nodes:
        if not isinstance(node, cst.SimpleString) or "b" in node.prefix.lower():
            continue
        value = literal(node)
        if not isinstance(value, str) or " " not in value or not _SHELLISH.search(value):
            continue
        for operator, new, what in _changes(value):
            yield site.edit(operator, node, repr(new), f"{what} in {site.short(node)}")


def _changes(text: str) -> Iterator[tuple[str, str, str]]:
    for found in _QUOTED.finditer(text):
        yield (
            "quoting-dropped",
            text[: found.start()] + found.group(1) + text[found.end() :],
            f"quotes of {found.group()} dropped",
        )
    for found in _OPTION.finditer(text):
        yield "option-dropped", text[: found.start()] + text[found.end() :], f"option {found.group()} dropped"
    for found in _STAGE.finditer(text):
        yield "stage-dropped", text[: found.start()] + text[found.end() :], f"stage `{found.group().strip()}` dropped"
    for old, new in (("&&", ";"), ("||", "&&"), (">>", ">")):
        if old in text:
            yield "shell-operator", text.replace(old, new, 1), f"`{old}` became `{new}`"
    if re.search(r"(?<![>0-9&])>(?![>&])", text):
        yield "append-instead", re.sub(r"(?<![>0-9&])>(?![>&])", ">>", text, count=1), "`>` became `>>`"
    for line in text.splitlines():
        if line.strip() and "\n" in text.strip() and not re.match(r"\s*(do|done|then|fi|else|esac|\}|\{)\b", line):
            yield (
                "statement-removed",
                text.replace(line + "\n", ":\n", 1) if line + "\n" in text else text,
                f"line `{line.strip()[:40]}` dropped",
            )


def argument_words(site: Site) -> Iterator[Edit]:
    """Words dropped from argument lists (``["chmod", "-R", mode]``): options and ``--``."""
    for node in site.nodes:
        if not isinstance(node, cst.List) or len(node.elements) < 2:
            continue
        for i, element in enumerate(node.elements):
            text = site.text(element.value)
            if i and text.strip("\"'").startswith("-"):
                rest = ", ".join(site.text(e.value) for j, e in enumerate(node.elements) if j != i and isinstance(e, cst.Element))
                if all(isinstance(e, cst.Element) for e in node.elements):
                    yield site.edit("option-dropped", node, f"[{rest}]", f"{text} dropped from `{site.short(node)}`")
