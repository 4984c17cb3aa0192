"""A draft under another name, with other names for its parameters, or told in other words: code, bindings and text along."""

from __future__ import annotations

import html
import keyword
import re
from collections.abc import Mapping
from dataclasses import replace

import libcst as cst

from synth.export.document import front_matter, prose
from synth.interface import Draft
from verifiers.interface import AssayError, Decision
from verifiers.subject import parse_subject

LONGEST_TEXT = 200
_FIELD = "description: "
_SUMMARY = re.compile(rf"---\n(?:(?!---\n).*\n)*?{_FIELD}(.*\w.*)\n(?![ \t])")
"""Front matter up to its description, where that is one line."""
_CLAIM = re.compile(rf"(?m)^(?P<before>{_FIELD}|\|(?:.*[^\\])?\| |)(?P<text>\S.*?)(?P<after> \||)$")
"""What may be a description by itself: the field of the front matter, a whole line, the last cell of a row."""


class RenameError(AssayError, ValueError):
    """A name that cannot be given."""


def renamed(
    draft: Draft,
    name: str | None = None,
    parameters: Mapping[str, str] | None = None,
    described: Mapping[str, str] | None = None,
) -> Draft:
    """The draft with other names. It is other code then: it must be verified again.

    Args:
        name: Of the skill; None = as it is.
        parameters: Old name -> new name.
        described: Parameter, as it is called so far, -> new description; "" for the skill itself.

    Raises:
        RenameError: there is no such parameter, or the new name is no identifier, a keyword, or taken in the function; or the new
            description is no plain sentence.
    """
    subject = parse_subject(draft.source, "skill.py")
    chosen, new = dict(parameters or {}), name or subject.name
    told = {"": subject.description} | {q.name: q.description for q in subject.parameters}
    missing = [p for p in (*chosen, *(described or {})) if p not in told]
    if missing:
        has = ", ".join(q.name for q in subject.parameters) or "none"
        raise RenameError(f"there is no parameter {missing[0]!r}", f"It has: {has}", draft.name)
    texts = {told[p]: _plain(text, draft.name) for p, text in (described or {}).items()}
    module = cst.parse_module(draft.source)
    taken = _names(module)
    for word in (*chosen.values(), *([new] if new != subject.name else [])):
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,59}", word) or keyword.iskeyword(word) or word in taken:
            advice = "Use lower-case letters, digits and _, and no name that the code has"
            raise RenameError(f"{word!r} cannot be a name here", advice, draft.name)
        taken.add(word)
    source = module.visit(_Renaming(subject.name, new, chosen, texts)).code
    bindings = {task: {chosen.get(n, n): value for n, value in args.items()} for task, args in draft.bindings.items()}
    text = _in_text(_documented(draft.skill_md, texts, texts.get(subject.description)), chosen)
    if new != subject.name:
        text = re.sub(rf"\b{re.escape(subject.name)}\b", new, text)
    decisions = tuple(_asked_so(d, chosen) for d in draft.decisions)
    return replace(draft, name=new, source=source, bindings=bindings, skill_md=text, decisions=decisions)


def _asked_so(decision: Decision, chosen: Mapping[str, str]) -> Decision:
    """The answer to the same case, whose arguments are called otherwise."""
    case = decision.question.case
    args = {chosen.get(n, n): value for n, value in case.args.items()}
    return replace(decision, question=replace(decision.question, case=replace(case, args=args)))


def _plain(text: str, name: str) -> str:
    if not text.strip() or not text.isprintable() or set(text) & set("\"'\\{}") or len(text) > LONGEST_TEXT:
        advice = f"Use one line of at most {LONGEST_TEXT} characters without quotes, braces and backslashes"
        raise RenameError(f"{text[:40]!r} cannot be a description here", advice, name)
    return text.strip()


def _documented(text: str, texts: Mapping[str, str], summary: str | None) -> str:
    """``SKILL.md`` in other words. It says a description with marks of its own: OLD_EXT for <old_ext>, quotes, escapes.

    Args:
        summary: What the skill does, where that is new: its front matter may have said it otherwise than the code did.
    """
    told = {words: new for old, new in texts.items() if (words := _words(old))}
    said = _SUMMARY.match(text)
    if said is not None and summary is not None:
        told[_words(said[1])] = summary

    def claim(found: re.Match[str]) -> str:
        new = told.get(_words(found["text"]))
        if new is None:
            return _reworded(found[0], texts)
        if found["before"] == _FIELD:
            return front_matter({"description": new}).split("\n")[1]
        return f"{found['before']}{prose(new)}{found['after']}"

    return _CLAIM.sub(claim, text)


def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", html.unescape(text).casefold()))


def _reworded(text: str, texts: Mapping[str, str]) -> str:
    """Prose in which a description ends a line or a cell: elsewhere the same words may mean something else."""
    for old, new in texts.items():
        if old:
            text = _at_line_ends(re.escape(old)).sub(new.replace("\\", r"\\"), text)
    return text


def _at_line_ends(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?m){pattern}(?=\.?[ \t]*($|\||\"\"\"))")


def _names(module: cst.Module) -> set[str]:
    found: set[str] = set()

    class Names(cst.CSTVisitor):
        def visit_Name(self, node: cst.Name) -> None:
            found.add(node.value)

    module.visit(Names())
    return found


def _in_text(text: str, chosen: Mapping[str, str]) -> str:
    """Prose about parameters: placeholders, spans of code, cells of a table, and the lines of a docstring's arguments."""
    for old, new in chosen.items():
        text = re.sub(rf"(?<=<){re.escape(old)}(?=>)|(?<=`){re.escape(old)}(?=`)|(?<=\"){re.escape(old)}(?=\":)", new, text)
        text = re.sub(rf"(?m)^(\s*){re.escape(old)}:", rf"\g<1>{new}:", text)
        text = re.sub(rf"\b{re.escape(old.upper())}\b", new.upper(), text)
    return text


class _Renaming(cst.CSTTransformer):
    """Renames the skill's function wherever it is named, and its parameters within it."""

    def __init__(self, old: str, new: str, parameters: Mapping[str, str], texts: Mapping[str, str]) -> None:
        self._old, self._new, self._parameters, self._texts = old, new, parameters, texts
        self._inside = 0
        self._raising = False

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._inside += self._inside > 0 or node.name.value == self._old

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        self._inside -= self._inside > 0
        return updated_node

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        if original_node.value == self._old:
            return updated_node.with_changes(value=self._new)
        known = self._parameters.get(original_node.value) if self._inside else None
        return updated_node.with_changes(value=known) if known is not None else updated_node

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        # A keyword is the called function's own name for it.
        node = updated_node.with_changes(keyword=original_node.keyword)
        if node.keyword is not None and node.keyword.value == "description" and isinstance(node.value, cst.SimpleString):
            new = self._texts.get(str(node.value.evaluated_value))
            node = node.with_changes(value=cst.SimpleString(f'"{new}"')) if new is not None else node
        return node

    def leave_Expr(self, original_node: cst.Expr, updated_node: cst.Expr) -> cst.Expr:
        if not isinstance(updated_node.value, cst.SimpleString):
            return updated_node
        text = _in_text(_reworded(updated_node.value.value, self._texts), self._parameters)
        return updated_node.with_changes(value=updated_node.value.with_changes(value=text))

    def visit_Raise(self, node: cst.Raise) -> None:
        self._raising = True

    def leave_Raise(self, original_node: cst.Raise, updated_node: cst.Raise) -> cst.Raise:
        self._raising = False
        return updated_node

    def leave_SimpleString(self, original_node: cst.SimpleString, updated_node: cst.SimpleString) -> cst.SimpleString:
        return updated_node.with_changes(value=self._said(updated_node.value))

    def leave_FormattedStringText(
        self, original_node: cst.FormattedStringText, updated_node: cst.FormattedStringText
    ) -> cst.FormattedStringText:
        return updated_node.with_changes(value=self._said(updated_node.value))

    def _said(self, text: str) -> str:
        """The message of an error names parameters as they are called."""
        for old, new in self._parameters.items() if self._raising and self._inside else ():
            text = re.sub(rf"\b{re.escape(old)}\b", new, text)
        return text
