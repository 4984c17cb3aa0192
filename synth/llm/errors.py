"""What can go wrong with a model: each a type of its own, each saying what to do."""

from __future__ import annotations

from typing import ClassVar

from synth.usage import Usage
from verifiers.interface import AssayError


class ModelError(AssayError, RuntimeError):
    """The model gave nothing that can be judged. Never a verdict on a skill."""

    exit_code: ClassVar[int] = 3
    spent: Usage = Usage()
    """On answers that broke off before this."""


class ModelUnavailable(ModelError, ConnectionError):
    """Rate limit, overload, time-out, no connection or no whole answer, after all retries."""


class ModelRejected(ModelError, PermissionError):
    """The service refused the request itself: key, model name, size, quota."""


class NoRecordedExchange(ModelError, LookupError):
    """``--llm-replay`` has no answer to this request."""


class AnswerError(ModelError, ValueError):
    """An answer came, and it holds no proposal."""


class Refused(AnswerError):
    """The model declined to answer."""


class Malformed(AnswerError):
    """No tool call, or one whose fields are not what its schema says."""


class Truncated(AnswerError):
    """The answer was cut off at the token limit."""


class BudgetSpent(ModelError):
    """The next request would go over the budget."""
