"""The anthropic generator: candidates from a language model, judged like any other."""

from synth.claude.client import Client, Retrying
from synth.claude.errors import (
    AnswerError,
    BudgetSpent,
    Malformed,
    ModelError,
    ModelRejected,
    ModelUnavailable,
    NoRecordedExchange,
    Refused,
    Truncated,
)
from synth.claude.exchange import Answer, Request, Tape
from synth.claude.generator import AnthropicGenerator, Settings

__all__ = [
    "Answer",
    "AnswerError",
    "AnthropicGenerator",
    "BudgetSpent",
    "Client",
    "Malformed",
    "ModelError",
    "ModelRejected",
    "ModelUnavailable",
    "NoRecordedExchange",
    "Refused",
    "Request",
    "Retrying",
    "Settings",
    "Tape",
    "Truncated",
]
