"""The anthropic generator: candidates from a language model, judged like any other."""

from synth.claude.client import Client, Connection
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
from synth.claude.generator import AnthropicGenerator
from synth.claude.settings import Settings

__all__ = [
    "Answer",
    "AnswerError",
    "AnthropicGenerator",
    "BudgetSpent",
    "Client",
    "Connection",
    "Malformed",
    "ModelError",
    "ModelRejected",
    "ModelUnavailable",
    "NoRecordedExchange",
    "Refused",
    "Request",
    "Settings",
    "Tape",
    "Truncated",
]
