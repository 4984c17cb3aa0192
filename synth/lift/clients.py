"""The agents' own clients, run once for one request: how each is called, where it finds skills, what it says of its run.

Source: Claude Code 2.1.197, Codex 0.169.0 and Gemini CLI 0.61.0, run against a scripted model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Spent:
    """What a client says of one run."""

    turns: int
    """As it counts them: its turns (Claude Code), its requests to the model (Gemini CLI), its finished steps (Codex)."""
    input_tokens: int
    """Cached ones too."""
    cached_tokens: int
    output_tokens: int
    said: str
    """Its last words."""
    usd: float | None = None
    """None where it does not say."""
    model: str = ""
    failed: str = ""
    """What went wrong, as it says; "" where nothing did."""

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Client:
    """One of them."""

    name: str
    program: str
    package: str
    """On the npm registry."""
    skills: str
    """Below the home directory."""
    keys: tuple[str, ...]
    """Variables of which one must be set."""
    words: Callable[[str, str | None], list[str]]
    """Request and model -> what follows the program. The request may stand on standard input instead."""
    on_stdin: bool
    read: Callable[[str], Spent]
    """Standard output -> what it says. Where it says something else: ValueError, LookupError, TypeError or AttributeError."""
    passed: tuple[str, ...] = ()
    """Further variables that it is given as they are."""
    fixed: Mapping[str, str] = field(default_factory=dict)
    files: Callable[[Mapping[str, str], str | None], dict[str, str]] = lambda environment, model: {}
    """Environment and model -> its settings, below the home directory."""


def _claude_words(request: str, model: str | None) -> list[str]:
    tools = ("Bash", "Read", "Edit", "Write", "Glob", "Grep", "Skill")
    return ["-p", "--output-format", "json", *(["--model", model] if model else []), "--allowedTools", *tools]


def _claude_read(text: str) -> Spent:
    said = json.loads(text)
    models = said.get("modelUsage") or {}  # sub-agents too, which ``usage`` leaves out
    kinds = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens")
    fresh, cached, written, made = (sum(m.get(kind) or 0 for m in models.values()) for kind in kinds)
    words = str(said.get("result") or "")
    failed = (words or str(said.get("subtype"))) if said["is_error"] else ""
    model = next(iter(models)) if len(models) == 1 else ""
    return Spent(said["num_turns"], fresh + cached + written, cached, made, words, said.get("total_cost_usd"), model, failed)


def _codex_words(request: str, model: str | None) -> list[str]:
    return ["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-"]


def _codex_files(environment: Mapping[str, str], model: str | None) -> dict[str, str]:
    address = environment.get("OPENAI_BASE_URL") or OPENAI
    chosen = f"model = {json.dumps(model)}\n" if model else ""
    provider = f'name = "assay"\nbase_url = {json.dumps(address)}\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n'
    settings = f'{chosen}model_provider = "assay"\n[model_providers.assay]\n{provider}[analytics]\nenabled = false\n'
    return {".codex/config.toml": settings}


def _codex_read(text: str) -> Spent:
    events = list(_objects(text))
    items = [e["item"] for e in events if e.get("type") == "item.completed"]
    steps = [i for i in items if i.get("type") not in ("error", "reasoning", "todo_list")]
    used = [e["usage"] for e in events if e.get("type") == "turn.completed"]
    kinds = ("input_tokens", "cached_input_tokens", "output_tokens")
    sent, cached, made = (sum(u.get(kind) or 0 for u in used) for kind in kinds)
    words = [i["text"] for i in items if i.get("type") == "agent_message"]
    errors = [
        e.get("message") or (e.get("error") or {}).get("message") for e in events if e.get("type") in ("error", "turn.failed")
    ]
    failed = "" if used else str(errors[-1] if errors else "it ended without a turn")
    return Spent(len(steps), sent, cached, made, words[-1] if words else "", failed=failed)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        if line.startswith("{"):
            yield json.loads(line)


def _gemini_words(request: str, model: str | None) -> list[str]:
    return [*(["-m", model] if model else []), "--yolo", "--skip-trust", "-o", "json", f"--prompt={request}"]


def _gemini_files(environment: Mapping[str, str], model: str | None) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True},
    }  # fmt: skip
    return {".gemini/settings.json": json.dumps(settings)}


def _gemini_read(text: str) -> Spent:
    said = json.loads(text[text.index("{") :])
    models = (said.get("stats") or {}).get("models") or {}
    tokens = [m["tokens"] for m in models.values()]
    sent, cached, made, thought = (sum(t.get(k) or 0 for t in tokens) for k in ("prompt", "cached", "candidates", "thoughts"))
    requests = sum(m["api"]["totalRequests"] for m in models.values())
    failed = str((said.get("error") or {}).get("message") or "") if "response" not in said else ""
    model = next(iter(models)) if len(models) == 1 else ""
    return Spent(requests, sent, cached, made + thought, str(said.get("response") or ""), model=model, failed=failed)


CLIENTS = {
    client.name: client
    for client in (
        Client(
            "claude-code", "claude", "@anthropic-ai/claude-code", ".claude/skills",
            ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"), _claude_words, True, _claude_read,
            ("ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL"),
            dict.fromkeys(("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER"), "1"),
        ),
        Client(
            "codex", "codex", "@openai/codex", ".codex/skills", ("OPENAI_API_KEY",), _codex_words, True, _codex_read,
            files=_codex_files,
        ),
        Client(
            "gemini-cli", "gemini", "@google/gemini-cli", ".gemini/skills", ("GEMINI_API_KEY",), _gemini_words, False,
            _gemini_read, ("GOOGLE_GEMINI_BASE_URL", "GEMINI_MODEL"), files=_gemini_files,
        ),
    )
}  # fmt: skip
