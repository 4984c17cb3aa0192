"""Text that an agent will read as part of a tool: it may describe the tool, and may not tell the agent what to do."""

from __future__ import annotations

import re
import unicodedata

MAX_DESCRIPTION = 2_000
MAX_DOCSTRING = 8_000

PART = "gives its reader a part"
"""What every program says that asks a model of its own."""

_READER = r"(?:assistant|agent|(?:large )?language model|llm|ai(?: system| model)?|model|chatbot|claude|gpt|copilot|gemini)s?"
_MUST = r"(?:must|should|shall|has to|have to|needs? to|is (?:required|expected|asked) to)"
_ACT = r"(?:run|read|call|send|execute|open|fetch|pass|put|include|print|load|invoke)"
_PERSON = r"(?:user|human|person|anyone|operator|developer)"
_TOLD = r"(?:mention|tell|reveal|show|inform|notify|disclose|ask)"
_FAMILIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "takes other instructions back",
        (
            r"\b(?:ignore|disregard|forget|override|bypass|do not follow|don't follow)\b[^.\n]{0,40}"
            r"\b(?:previous|prior|above|earlier|preceding|other|all|any|system|safety|your)\b[^.\n]{0,30}"
            r"\b(?:instruction|rule|prompt|guideline|message|restriction|polic|direction)",
        ),
    ),
    (
        "speaks in another's name",
        (
            r"(?:^|[\n.!?]\s*)\W{0,4}(?:system|developer|admin(?:istrator)?)\W{0,2}"
            r"(?:note|message|prompt|instruction|override)?s?\s*(?:to (?:the |all )?\w+\s*)?:",
            r"\bsystem (?:note|prompt|message|override)\b",
            r"<\|?/?(?:system|im_start|im_end|assistant|instructions?)\b|\[/?(?:INST|SYSTEM)\]",
        ),
    ),
    (
        "addresses its reader",
        (
            rf"\b(?:you|the|dear|attention|any|every)\s+{_READER}\b\s*(?:[:,]|\b{_MUST}\b)",
            rf"\b(?:note|instructions?|message|important)\s+(?:to|for) (?:the |all |any )?{_READER}\b",
        ),
    ),
    (PART, (r"\b(?:you are|act as|pretend to be) (?:an?|the|now)\b",)),
    (
        "asks to keep something from a person",
        (
            rf"\b(?:do not|don't|never|without)\b[^.\n]{{0,40}}\b{_TOLD}\w*\b[^.\n]{{0,40}}\b{_PERSON}\b",
            r"\bhide\b[^.\n]{0,30}\bfrom the (?:user|human)\b",
        ),
    ),
    (
        "asks for acts around a call",
        (
            r"\b(?:before|prior to|whenever|each time|every time|instead of)\b[^.\n]{0,20}"
            r"\b(?:call|calling|us(?:e|ing)|invok\w+)\b[^.\n]{0,25}\b(?:this|the) (?:tool|skill|function|command)\b",
            rf"\b(?:before|after)\s+(?:each|every|any)\s+(?:call|use|run|invocation)\b[^.\n]{{0,30}}\b{_ACT}\b",
            rf"\b(?:always|first)\s+{_ACT}\b[^.\n]{{0,60}}(?:\btool\b|`|https?:|~/)",
        ),
    ),
    (
        "names secrets",
        (
            r"~/\.(?:ssh|aws|gnupg|netrc|docker|kube|config)\b|\bid_(?:rsa|ed25519|ecdsa)\b|/etc/(?:shadow|passwd)\b",
            r"\.aws/credentials|\b(?:your|the) (?:system prompt|api[ _-]?keys?|credentials|access tokens?|private keys?)\b",
        ),
    ),
)
_PATTERNS = tuple((what, re.compile("|".join(parts), re.IGNORECASE)) for what, parts in _FAMILIES)


def instructs(text: str) -> tuple[str, str] | None:
    """What a text does besides describing, and the words that do it; None where it only describes."""
    hidden = next((c for c in text if c not in "\n\t\r" and unicodedata.category(c) in ("Cc", "Cf", "Co", "Cs")), "")
    if hidden:
        return "holds a character that nobody sees", f"U+{ord(hidden):04X}"
    if "<!--" in text:
        return "holds a comment that is not shown", "<!--"
    plain = unicodedata.normalize("NFKC", re.sub(r"\s*\n\s*(?=\S)", " ", text))
    for what, pattern in _PATTERNS:
        found = pattern.search(plain)
        if found:
            return what, " ".join(found.group().split())[:120]
    return None


def for_agent(text: str, most: int = MAX_DESCRIPTION) -> str:
    """A skill's own text as an agent may be shown it: bounded, and left out where it instructs."""
    found = instructs(text)
    if found is not None:
        return f"[left out: the text {found[0]}]"
    text = text.encode("utf-8", "backslashreplace").decode()  # else no protocol can carry it
    return text if len(text) <= most else f"{text[:most]}… [cut]"
