"""One request to a model and its answer, as values; and a folder of recorded ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from synth.claude.errors import ModelError, NoRecordedExchange
from synth.files import write_atomic

SCHEMA = "assay-exchange/1"


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent, without credentials: equal requests have equal digests."""

    model: str
    system: str
    evidence: str
    """The recordings: the part that stays the same over a pattern, cached by the service."""
    instruction: str
    max_output_tokens: int
    prompts: str
    """SHA-256 of the prompt files."""

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, as far as we use it."""

    stop_reason: str
    tool: str | None
    """Name of the one tool that was called."""
    input: Mapping[str, Any] | None
    text: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    calls: int = 1
    """Number of tool calls in the answer."""
    retries: int = 0

    @property
    def tokens(self) -> int:
        """Everything that counts against a token budget."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens


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
        write_atomic(self.folder / f"{request.digest}.json", text.encode())

    def find(self, request: Request) -> Answer:
        """The recorded answer to a request.

        Raises:
            NoRecordedExchange: there is none, or it is not an exchange.
            ModelError: an error was recorded instead.
        """
        path = self.folder / f"{request.digest}.json"
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
