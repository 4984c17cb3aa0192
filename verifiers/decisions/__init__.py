"""Answers to questions: their lines in ``decisions.jsonl``, where that file is, and how one more is written."""

from verifiers.decisions.answering import answer
from verifiers.decisions.file import DecisionError, add, check_cases, load_decisions
from verifiers.decisions.line import decided, digest_of, dump_decision, parse_decision, question_to_json
from verifiers.decisions.places import found, home

__all__ = [
    "DecisionError", "add", "answer", "check_cases", "decided", "digest_of", "dump_decision", "found", "home", "load_decisions",
    "parse_decision", "question_to_json",
]  # fmt: skip
