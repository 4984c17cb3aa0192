"""Secrets leave names, files and prompts; everything that commands need stays."""

from __future__ import annotations

import base64
import string
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.interface import ExecutionTrace
from synth.tracing.redact import looks_random, mask, redact, redact_trace, secrets_in

# Joined at run time, so that scanners of this repository do not take them for real ones.
AWS = "AKIA" + "IOSFODNN7EXAMPLE"
GITHUB = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6"
RANDOM = "Zx81Qp0aLm3Tr7Uv2Kd9"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"aws configure set key {AWS}", AWS),
        (f"git clone https://x:{GITHUB}@forge/x", GITHUB),
        ("mysql --password hunter22 db", "hunter22"),
        ("API_KEY=abc123def run", "abc123def"),
        ("password: hunter2x", "hunter2x"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCY"),
        ("ftp://bob:pw1234@host/x", "pw1234"),
        ("curl -H 'Authorization: Bearer abcDEF123456ghiJKL'", "abcDEF123456ghiJKL"),
        (f"send {RANDOM} along", RANDOM),
        ("-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "MIIE"),
    ],
)
def test_a_secret_is_taken_out(text: str, secret: str) -> None:
    """Known formats, named values, credentials in URLs and random words."""
    assert secret not in redact(text)
    assert len(redact(text)) == len(text)


@pytest.mark.parametrize(
    "text",
    [
        "git checkout 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "echo d41d8cd98f00b204e9800998ecf8427e  empty",
        "550e8400-e29b-41d4-a716-446655440000",
        "cat token.txt tokens/list.csv",
        "token: tokens.txt",
        "count the password fields of users.csv",
        "org.example.MyVeryLongClassNameForTesting2",
        "/usr/share/dictionaries/internationalization/words",
        "find . -name '*.py' -print0 | xargs -0 sed -i 's/foo/bar/g'",
        "password=***",
        "base64 -d <<< " + base64.b64encode(b"The quick brown fox, 27 of them.\nAnd 3 dogs?\n").decode(),
    ],
)
def test_what_commands_need_stays(text: str) -> None:
    """Digests, identifiers, paths, class names and placeholders are no secrets."""
    assert redact(text) == text


@pytest.mark.parametrize(
    "content", [f"export KEY={AWS} now\n", "deploy:Hunter22Horse9Battery", "send it with token=abcdef12 please"]
)
def test_a_secret_in_base64_is_taken_out(content: str) -> None:
    """Encoding hides nothing, and only running text without a secret is let through."""
    encoded = base64.b64encode(content.encode()).decode()
    assert encoded not in redact(f"echo {encoded} | base64 -d")


def test_a_redacted_trace_is_consistent_and_keeps_its_lengths() -> None:
    """One mask everywhere, file contents and names included, so that the trace still replays."""
    content = base64.b64encode(f"key = {RANDOM}\n".encode()).decode()
    tree = {f"{RANDOM}.txt": {"type": "file", "mode": "0644", "content_b64": content}}
    trace = ExecutionTrace(
        "t", f"find {RANDOM}", (f"grep -r {RANDOM} .",), (f"key = {RANDOM}\n",), True, 1.0, datetime(2026, 1, 1, tzinfo=UTC),
        {"note": RANDOM}, workspace=tree, post_workspace=tree,
    )  # fmt: skip
    clean = redact_trace(trace)
    hidden = mask(RANDOM)
    assert RANDOM not in repr(clean)
    assert clean.commands == (f"grep -r {hidden} .",)
    assert clean.workspace is not None
    entry = clean.workspace[f"{hidden}.txt"]
    assert base64.b64decode(entry["content_b64"]) == f"key = {hidden}\n".encode()


def test_a_trace_without_secrets_is_the_same_object() -> None:
    """Nothing to hide: nothing rebuilt."""
    trace = ExecutionTrace("t", "list", ("ls",), ("a\n",), True, 1.0, datetime(2026, 1, 1, tzinfo=UTC), {})
    assert redact_trace(trace) is trace


@given(st.text(string.ascii_lowercase + "/._-", max_size=80))
def test_lower_case_words_and_paths_never_look_random(text: str) -> None:
    """No words or paths of one case are taken for keys."""
    assert not looks_random(text)


@given(st.text())
def test_redaction_keeps_lengths_and_is_stable(text: str) -> None:
    """Same length, and a second pass finds nothing new to hide among the masks."""
    once = redact(text)
    assert len(once) == len(text)
    assert all(s not in once or s.startswith("REDACTED"[: len(s)]) for s in secrets_in(text))
