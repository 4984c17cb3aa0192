"""Generators that ask a language model: candidates from a language model, judged like any other."""

from synth.llm.errors import (
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
from synth.llm.exchange import Answer, Request, Tape
from synth.llm.generator import ModelGenerator
from synth.llm.messages import MessagesClient
from synth.llm.service import Connection, Service
from synth.llm.settings import Settings

__all__ = [
    "Answer",
    "AnswerError",
    "BudgetSpent",
    "Connection",
    "Malformed",
    "MessagesClient",
    "ModelError",
    "ModelGenerator",
    "ModelRejected",
    "ModelUnavailable",
    "NoRecordedExchange",
    "Refused",
    "Request",
    "Service",
    "Settings",
    "Tape",
    "Truncated",
]
