"""One request to a model and its answer, as values; and a folder of recorded ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from synth.files import write_atomic
from synth.llm.errors import ModelError, NoRecordedExchange

SCHEMA = "assay-exchange/2"
FIRST = "anthropic"
"""The service that was the only one once: it is not part of a digest, so that answers kept then are still found."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent, without credentials: equal requests have equal digests."""

    model: str
    system: str
    evidence: str
    """The recordings: the part that stays the same over a pattern, cached by the service."""
    instruction: str
    max_output_tokens: int
    """Not in the digest: it follows from what is left to spend."""
    prompts: str
    """SHA-256 of the prompt files."""
    effort: str | None = None
    thinking: str | None = None
    strict: bool = True
    purpose: str = "skill"
    """Which tools it may be answered with: ``skill`` or ``groups``."""
    service: str = FIRST

    @property
    def digest(self) -> str:
        left_out = {"max_output_tokens", *(["service"] if self.service == FIRST else [])}
        said = {name: value for name, value in asdict(self).items() if name not in left_out}
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, as far as we use it."""

    stop_reason: str
    tool: str | None
    """Name of the one tool that was called."""
    input: Mapping[str, Any] | None
    text: str
    """What it said besides; of a refusal, its explanation too."""
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    calls: int = 1
    """Number of tool calls in the answer."""
    retries: int = 0
    thinking_tokens: int = 0
    requests: int = 1
    """This one, and those before it whose answer broke off: their tokens are counted in."""


class Tape:
    """A folder of exchanges, one JSON file each, named by the request's digest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, request: Request, outcome: Answer | ModelError) -> None:
        """Writes one exchange, errors included. The key and the address of the service are not part of it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        document: dict[str, Any] = {"schema": SCHEMA, "request": asdict(request)}
        if isinstance(outcome, Answer):
            document["answer"] = asdict(outcome)
        else:
            document["error"] = {"type": type(outcome).__name__, "what": outcome.what}
        # Keys stay in the order in which they came: the next request is made from this answer.
        text = json.dumps(document, indent=1, ensure_ascii=True) + "\n"
        write_atomic(self._path(request), text.encode(), 0o600)

    def answered(self, request: Request) -> Answer | None:
        """The answer to a request that was sent before, if one was kept.

        An answer that was cut off counts only where no more room for it is given now.
        """
        try:
            document = json.loads(self._path(request).read_text(encoding="utf-8"))
            answer = Answer(**document["answer"])
            room = int(document["request"]["max_output_tokens"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        cut = answer.stop_reason == "max_tokens" and room < request.max_output_tokens
        return None if cut or document.get("schema") != SCHEMA else answer

    def find(self, request: Request) -> Answer:
        """The recorded answer to a request.

        Raises:
            NoRecordedExchange: there is none, or it is not an exchange.
            ModelError: an error was recorded instead.
        """
        path = self._path(request)
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            if document["schema"] != SCHEMA:
                raise ValueError(f"schema {document['schema']!r}")
            if "error" in document:
                raise ModelError(f"the recorded exchange ended with {document['error']['type']}: {document['error']['what']}")
            return Answer(**document["answer"])
        except FileNotFoundError:
            advice = "Record it with --llm-record: the prompts, the traces or the model have changed since"
            raise NoRecordedExchange("no recorded answer to this request", advice, path) from None
        except (OSError, ValueError, KeyError, TypeError) as e:
            raise NoRecordedExchange(f"is not a recorded exchange ({e})", "Record it again with --llm-record", path) from e

    def _path(self, request: Request) -> Path:
        return self.folder / f"{request.digest}.json"
