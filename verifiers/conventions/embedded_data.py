"""No blob of data inside the code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.model import SkillModule, literal
from verifiers.conventions.rule import TOUCH, Rule, Violation, skill
from verifiers.interface import Profile

LONGEST_WORD = 200
"""Characters without white space: more than any digest, path or pattern that a person would write."""
_DIGEST = re.compile(r"^[0-9a-fA-F]+$")
_DIGEST_LENGTHS = (32, 40, 56, 64, 96, 128)


class EmbeddedData(Rule):
    id = "conventions-embedded-data"
    title = "Is the code free of embedded data?"
    why = (
        f"A text of more than {LONGEST_WORD} characters without white space is an archive, a picture or a program in disguise: "
        f"nobody who "
        "reviews the skill can say what it holds, and a skill that unpacks the recorded result instead of computing it looks "
        "just "
        "like that. Digests spelled out in the code are worth a warning: they recognise one recorded content."
    )
    profiles: ClassVar[tuple[Profile, ...]] = ("seed", "omni")
    good = (
        skill("a template with words", 'Path(file).write_text("All the words of a template, " * 20)\nreturn {"ok": True}'),
        skill(
            "a pattern",
            'found = re.findall(r"[0-9a-f]{64}", file)\nreturn {"ok": True, "n": len(found)}',
            imports="import re\n\n",
        ),
    )
    bad = (
        skill(
            "a blob",
            f'Path(file).write_bytes(b64decode("{"QmxvYg" * 35}"))\nreturn {{"ok": True}}',
            imports="from base64 import b64decode\nfrom pathlib import Path\n\n",
        ),
        skill(
            "a blob in pieces", f'blob = "{"QmxvYg" * 20}" "{"QmxvYg" * 20}"\nPath(file).write_text(blob)\nreturn {{"ok": True}}'
        ),
        skill(
            "a digest",
            f'known = "{"0123456789abcdef" * 4}"\n{TOUCH.replace("1}", "1, " + chr(34) + "known" + chr(34) + ": known}")}',
        ),
    )

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        for node in module.nodes:
            if not isinstance(node, cst.SimpleString | cst.ConcatenatedString) or self._inner(module, node):
                continue
            try:
                value = literal(node)
            except ValueError:  # a concatenation with an f-string in it
                continue
            words = value.split() if isinstance(value, str | bytes) else []
            longest = max((len(w) for w in words), default=0)
            if longest > LONGEST_WORD:
                yield Violation(node, f"{longest} characters of embedded data: nobody can say what they hold")
            elif isinstance(value, str) and len(value) in _DIGEST_LENGTHS and _DIGEST.match(value):
                yield Violation(node, f"a digest of {len(value)} digits recognises one recorded content", "warning")

    @staticmethod
    def _inner(module: SkillModule, node: cst.CSTNode) -> bool:
        """Part of a concatenation, which is judged as a whole."""
        return isinstance(module.parents.get(node), cst.ConcatenatedString)


RULE = EmbeddedData()
