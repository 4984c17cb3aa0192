"""Secrets leave names, files and prompts; everything that commands need stays."""

from __future__ import annotations

import base64
import string
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.interface import ExecutionTrace
from synth.llm.brief import block
from synth.tracing.redact import mask, redact, redact_trace, redact_value
from synth.tracing.secret_rules import looks_random, secrets_in
from synth.tracing.traces import to_evidence

# Joined at run time, so that scanners of this repository do not take them for real ones.
AWS = "AKIA" + "IOSFODNN7EXAMPLE"
GITHUB = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6"
RANDOM = "Zx81Qp0aLm3Tr7Uv2Kd9"
HEX = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c"
SLACK = "https://hooks.slack.com/services/" + "T0123ABCD/B0123ABCD/abcdefABCDEF1234567890zz"


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
        (f"curl -d hi {SLACK}", SLACK),
        ("pwd: s3cr3t", "s3cr3t"),
        (f"token: sha256-{RANDOM}", RANDOM),
        (f"export SECRET_KEY_BASE {HEX}", HEX),
        ("mysqldump -u root -phunter2x db", "hunter2x"),
        ("curl -s -u bob:hunter22 http://h/x", "hunter22"),
        ("machine h login l\npassword hunter2", "hunter2"),
        ('API_KEY="abc def 123"', "abc def 123"),
        ("redis://:pw123456@cache/0", "pw123456"),
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
        '"integrity": "sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC"',
        "find . -name '*.py' -print0 | xargs -0 sed -i 's/foo/bar/g'",
        "password=***",
        "token = get_token(request)",
        "cd $(pwd) && OLDPWD=/x/y ls",
        "an APACHELICENSE text",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8m5Yb0mqgqz1u2nq3rXcV0bZkq1o5b7s9d8f7g6h5j",
        base64.b64encode(b"configuration-of-the-example").decode(),
        base64.encodebytes(bytes(n * 89 % 256 for n in range(400))).decode(),
        "Aa1b2C3d4" * 20,
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


def test_no_secret_reaches_over_the_end_of_a_line_or_a_field() -> None:
    """Each value is looked at alone and before it is quoted, so that nothing runs on into what follows."""
    shown = block("recordings", [{"output": "password=…\npwd: s3cr3t", "next": "plain words"}, {"output": 'KEY_PASS="a b c d"'}])
    assert "s3cr3t" not in shown
    assert "a b c d" not in shown
    assert "plain words" in shown
    assert "password=…\\npwd: R" in shown
    assert redact_value([{"a": "password="}, {"b": "bystander"}]) == [{"a": "password="}, {"b": "bystander"}]


def test_the_name_of_a_field_tells_what_its_value_is() -> None:
    """A password is one wherever it stands, if it stood under that name once."""
    assert "hunter22" not in repr(redact_value({"args": {"db_password": "hunter22"}, "log": ["with hunter22"]}))


def test_two_secrets_are_never_made_one() -> None:
    """Short ones too keep what tells them apart: commands may compare them."""
    first, second = redact("password=abcdef1 token=abcdef2").split()
    assert first.partition("=")[2] != second.partition("=")[2]


def test_what_was_taken_out_is_counted_in_the_trace() -> None:
    """Evidence is never altered silently."""
    trace = ExecutionTrace("t", f"use {RANDOM}", ("ls",), ("a\n",), True, 1.0, datetime(2026, 1, 1, tzinfo=UTC), {"source": "x"})
    clean = redact_trace(trace)
    assert clean.metadata == {"source": "x", "redacted": 1}
    assert to_evidence(clean).redacted == "1 secret was taken out of the recording"
    assert redact_trace(clean) is clean
    assert to_evidence(trace).redacted == ""


@given(st.dictionaries(st.text(max_size=8), st.text(alphabet='ab1=:"\\n pwd', max_size=30), max_size=4))
def test_redacted_values_keep_their_shape(value: dict[str, str]) -> None:
    """As many fields, as many lines, as many characters."""
    clean = redact_value(value)
    assert [len(v) for v in clean.values()] == [len(v) for v in value.values()]
    assert [v.count("\n") for v in clean.values()] == [v.count("\n") for v in value.values()]


@pytest.mark.parametrize("unit", ["a", "mysql ", "//x/", "eyJ.", "password", "a.", "-", "login ", "http://a:", "A1b", "aws key "])
def test_long_lines_take_no_time_in_their_square(unit: str) -> None:
    """A line of a quarter of a megabyte is data like any other."""
    began = time.process_time()
    redact(unit * (250_000 // len(unit)))
    assert time.process_time() - began < 10


def test_a_secret_in_a_very_long_line_is_found_wherever_it_stands() -> None:
    """Pieces overlap."""
    assert all(AWS not in redact("." * n + f" {AWS} " + "." * 4000) for n in range(1600, 2100, 7))
