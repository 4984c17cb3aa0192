"""Hostile values for one argument: none may run as code, hang, or be taken for done when it names nothing
(docs/semantics.md, "Zones")."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sandbox.interface import ROOT
from verifiers.interface import Args
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.template import as_text

CANARY = "assay_canary_7c1"
"""A file of this name appears only where a value ran as code."""
ABSENT = "qzabsent"
"""Behind a value it makes one that names nothing."""

PAYLOADS = (
    "$(touch {c})",
    "`touch {c}`",
    "; touch {c} ;",
    "'; touch {c}; '",
    '"; touch {c}; "',
    "x' $(touch {c}) '",
    "\ntouch {c}\n",
    "| touch {c}",
    "&& touch {c} &&",
    "(touch {c})",
    "'+__import__('os').system('touch {c}')+'",
    "{{ ^touch {c} }}",
    "-exec touch {c} ;",
    "/e; w {c}\n",
    '") + system("touch {c}") + ("',
)
"""For POSIX shells (bare, in single and in double quotes), Python, Nushell, find, sed and awk."""


@dataclass(frozen=True, slots=True)
class Hostile:
    """One call with one hostile argument."""

    parameter: str
    args: Args
    payload: str
    code: bool = False
    """Never text to commands that put it into a program: they are no witness."""


def injections(g: Grammar, count: int) -> list[Hostile]:
    """Calls with code in place of (and behind) each string argument; at most ``count`` a parameter, the commonest shapes
    first."""
    out = []
    for p, v in sorted(g.args.items()):
        if not isinstance(v, str):
            continue
        for i, form in enumerate(PAYLOADS[:count]):
            payload = form.format(c=CANARY)
            value = payload if i % 2 == 0 else v + payload
            out.append(Hostile(p, {**g.args, p: value}, payload))
        out.append(Hostile(p, {**g.args, p: v + PAYLOADS[0].format(c=CANARY)}, PAYLOADS[0].format(c=CANARY)))
    return out


GLOBS = ("{start}?", "{start}*", "*")
WIDER = ("{start}", "{start}.", "{start}_", "{start}%", ".*", "%")
"""Texts that match the recorded value, or everything, where they are taken for a pattern or a beginning."""
_STAMP = re.compile(r"[\d:/-]+|[-+]?\d*\.\d+")
"""A date, a time, a number: nobody calls with a pattern in its place, and nothing in it means anything to a matcher."""
QUERIES = ("{none}' OR '1'='1", '{none}" OR "1"="1')
"""Texts that match everything where they become part of a query: no task wants that, whatever its commands do."""


def patterns(g: Grammar) -> list[tuple[Hostile, Hostile]]:
    """Pairs of calls, each with an argument that names nothing: a plain word, and a text that is more than that to a matcher, in
    the same folder.
    What is part of names (an ending) may rightly be read as a part of a glob."""
    out = []
    for p, v in sorted(g.args.items()):
        if not isinstance(v, str) or len(v) < 2 or p not in g.template.parameters:
            continue
        none = f"{v}{ABSENT}"
        plain = Hostile(p, {**g.args, p: none}, none)
        named = any(v in path and v != path for path in g.base)
        wider = () if _STAMP.fullmatch(v) else (*(() if named or g.template.globbed(p) else GLOBS), *WIDER)
        forms = (*wider, *QUERIES)
        for form in forms:
            folder = v[: v.rfind("/") + 1] if "{" not in form else ""
            odd = folder + form.format(start=v[:-1], none=none)
            if odd == v:
                continue
            out.append((plain, Hostile(p, {**g.args, p: odd}, odd, code=form in QUERIES)))
    return out


def missing_inputs(g: Grammar) -> list[Hostile]:
    """Calls in which an argument that names an existing path, or a part of one, names what is not there. Only where the template
    has its holes."""
    parts = {part for path in g.base for part in path.split("/")}
    out = []
    for p, v in sorted(g.args.items()):
        if isinstance(v, str) and v.strip("/") in g.base.keys() | parts and v.strip("/") != ROOT and p in g.template.parameters:
            absent = f"{v.rstrip('/')}{ABSENT}"
            if absent not in g.base:
                out.append(Hostile(p, {**g.args, p: absent}, absent))
    return out


def need_not_exist(gs: Sequence[Grammar]) -> frozenset[str]:
    """Parameters whose path is made by some recorded task, or is gone once it is done, and nothing else tells that it is: a
    repeated call must succeed there, so one with a name that was never there may as well."""
    paths = [(g, p, v.strip("/")) for g in gs for p, v in g.args.items() if isinstance(v, str)]
    made = {p for g, p, path in paths if path not in g.base and path in g.expectation.tree}
    gone = {p for g, p, path in paths if path in g.base and path not in g.expectation.tree and _only_takes_away(g)}
    return frozenset(made | gone)


def _only_takes_away(g: Grammar) -> bool:
    return all(g.base.get(path) == entry for path, entry in g.expectation.tree.items() if path != ROOT)


def outside_arguments(g: Grammar) -> list[Hostile]:
    """Calls in which an argument leads out of the workspace."""
    out = []
    for p, v in sorted(g.args.items()):
        if isinstance(v, str) and as_text(v).strip("/") in {*g.base, *g.expectation.tree}:
            out.append(Hostile(p, {**g.args, p: f"../{CANARY}"}, f"../{CANARY}"))
    return out
