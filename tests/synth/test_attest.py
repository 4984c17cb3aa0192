"""Attestations: what they say, what they refuse to say, and what does not get past their verification."""

from __future__ import annotations

import base64
import copy
import json
import stat
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from factories import draft, report
from hypothesis import given
from hypothesis import strategies as st

from synth.attest import (
    OUR_DIGEST,
    AttestationError,
    attestation_path,
    attested_manifest,
    dir_hash1,
    pre_authentication,
    read_attestations,
    sign,
    signed_reports,
    statement,
    verify,
    write_attestation,
)
from synth.draft import write_draft
from synth.keys import KeyFileError, keygen, load_private_key, load_public_key
from synth.registry import Registry
from verifiers.interface import CheckResult, Verdict

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return write_draft(tmp_path, draft())


@pytest.fixture
def envelope(directory: Path) -> dict[str, Any]:
    return sign(statement(report(draft()), directory, "c" * 64), KEY)


def test_a_pass_is_attested_as_the_standard_says(directory: Path, envelope: dict[str, Any]) -> None:
    """Statement v1, test-result v0.1: required fields, both digests, the tests by name, what it was judged with."""
    document = json.loads(base64.b64decode(envelope["payload"]))
    assert document["_type"] == "https://in-toto.io/Statement/v1"
    assert document["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    assert set(document["subject"][0]["digest"]) == {"dirHash1", OUR_DIGEST}
    predicate = document["predicate"]
    assert predicate["result"] == "PASSED"
    assert predicate["passedTests"] == ["effect-equivalent", "idempotent-replay"]
    assert [c["name"] for c in predicate["configuration"]] == [
        "skill.py",
        "evidence",
        "bindings",
        "report",
        "sandbox-image",
        "policy",
    ]
    attested = verify(envelope, KEY.public_key(), directory, report(draft()))
    assert (attested.result, attested.statement) == ("PASSED", document)


def test_a_draft_and_its_registered_version_have_one_attestation(
    tmp_path: Path, directory: Path, envelope: dict[str, Any]
) -> None:
    """Registering copies the bytes, so the attestation of the draft holds for the version."""
    with Registry(tmp_path / "registry") as registry:
        entry = registry.register(draft(), report(draft()))
        assert verify(envelope, KEY.public_key(), Path(entry.path), registry.report(entry.name)).result == "PASSED"


def test_a_fail_is_attested_as_failed(directory: Path) -> None:
    """A measured failure is known, so it can be said."""
    failed = report(draft(), verdict=Verdict.FAIL, score=None, checks=(CheckResult("contained", Verdict.FAIL),))
    assert verify(sign(statement(failed, directory), KEY), KEY.public_key(), directory).result == "FAILED"


def test_nothing_is_said_of_what_is_not_known(directory: Path) -> None:
    """No attestation for INCONCLUSIVE, for a partial report, or for other code."""
    with pytest.raises(AttestationError, match="INCONCLUSIVE"):
        statement(report(draft(), verdict=Verdict.INCONCLUSIVE), directory)
    with pytest.raises(AttestationError, match="partial"):
        statement(report(draft(), partial=True), directory)
    with pytest.raises(AttestationError, match="other code"):
        statement(report(draft(), sha256="0" * 64), directory)


CHANGES: dict[str, Callable[[Path], object]] = {
    "an edited file": lambda p: (p / "skill.py").write_text("x"),
    "edited evidence": lambda p: (p / "evidence.jsonl").write_bytes(b"\n" + (p / "evidence.jsonl").read_bytes()),
    "an added file": lambda p: (p / "more").write_text("x"),
    "a changed mode": lambda p: (p / "skill.py").chmod(0o755),
    "an added link": lambda p: (p / "link").symlink_to("skill.py"),
    "an empty directory": lambda p: (p / "dir").mkdir(),
    "a renamed file": lambda p: (p / "SKILL.md").rename(p / "skill.md"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_of_the_directory_is_noticed(directory: Path, envelope: dict[str, Any], change: str) -> None:
    """Content, names, modes, links and empty directories."""
    CHANGES[change](directory)
    with pytest.raises(AttestationError, match="other files"):
        verify(envelope, KEY.public_key(), directory)


def test_another_key_is_refused(directory: Path, envelope: dict[str, Any]) -> None:
    """A valid signature of somebody else is none."""
    with pytest.raises(AttestationError, match="no signature of this key"):
        verify(envelope, Ed25519PrivateKey.generate().public_key(), directory)


def test_a_tampered_report_is_refused(directory: Path, envelope: dict[str, Any]) -> None:
    """The report that is shown must be the one that was attested; times do not count."""
    told = report(draft())
    assert verify(envelope, KEY.public_key(), directory, replace(told, seconds=99.0)).result == "PASSED"
    for tampered in (
        replace(told, seed=1),
        replace(told, capabilities=()),
        replace(told, score=None),
        replace(told, verdict=Verdict.FAIL),
    ):
        with pytest.raises(AttestationError, match="not the attested one"):
            verify(envelope, KEY.public_key(), directory, tampered)


def test_a_tampered_payload_is_refused(directory: Path, envelope: dict[str, Any]) -> None:
    """Neither the payload nor its type can be changed under a signature."""
    document = json.loads(base64.b64decode(envelope["payload"]))
    document["predicate"]["configuration"][3]["annotations"]["score"] = 1.0
    forged = {**envelope, "payload": base64.b64encode(json.dumps(document).encode()).decode()}
    with pytest.raises(AttestationError, match="no signature"):
        verify(forged, KEY.public_key(), directory)
    with pytest.raises(AttestationError, match="not an in-toto statement"):
        verify({**envelope, "payloadType": "text/plain"}, KEY.public_key(), directory)


@given(st.data())
def test_no_changed_byte_verifies(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Any change of the envelope's text is refused, and only with our own error."""
    root = tmp_path_factory.getbasetemp() / "attest"
    path = write_draft(root, draft())
    good = sign(statement(report(draft()), path), KEY)
    field = data.draw(st.sampled_from(["payload", "payloadType", "sig"]))
    bad = copy.deepcopy(good)
    where = bad["signatures"][0] if field == "sig" else bad
    text = where[field]
    position = data.draw(st.integers(0, len(text) - 1))
    where[field] = text[:position] + data.draw(st.text(max_size=2)) + text[position + 1 :]
    try:
        verify(bad, KEY.public_key(), path)
    except AttestationError:
        return
    assert base64.b64decode(bad["payload"]) == base64.b64decode(good["payload"])
    assert bad["payloadType"] == good["payloadType"]


KEYS = st.sampled_from(["payload", "payloadType", "signatures", "sig"])
LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=5)


@given(st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner)))
def test_any_json_is_refused_with_our_error(tmp_path_factory: pytest.TempPathFactory, envelope: object) -> None:
    """Whatever JSON somebody hands in."""
    with pytest.raises(AttestationError):
        verify(envelope, KEY.public_key(), tmp_path_factory.getbasetemp())


@pytest.mark.parametrize("payload", [b"not json", b"[]", b"{}", b'{"_type": "https://in-toto.io/Statement/v1"}'])
def test_a_signed_something_else_is_refused(directory: Path, payload: bytes) -> None:
    """A good signature on another kind of document does not help."""
    signature = KEY.sign(pre_authentication("application/vnd.in-toto+json", payload))
    envelope = {"payloadType": "application/vnd.in-toto+json", "payload": base64.b64encode(payload).decode(),
                "signatures": [{"keyid": "", "sig": base64.b64encode(signature).decode()}]}  # fmt: skip
    with pytest.raises(AttestationError, match="signed payload"):
        verify(envelope, KEY.public_key(), directory)


def test_pre_authentication_is_that_of_the_specification() -> None:
    """The example of the DSSE protocol text."""
    assert (
        pre_authentication("http://example.com/HelloWorld", b"hello world")
        == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


NAMES = st.text(st.characters(blacklist_characters="/\0", blacklist_categories=("Cs",)), min_size=1, max_size=8)


@given(st.dictionaries(NAMES, st.binary(max_size=20), max_size=5))
def test_dir_hash_is_that_of_the_shell_pipeline(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    """coreutils agree, also on names with spaces, backslashes and newlines (``-`` is their standard input)."""
    root = tmp_path_factory.mktemp("hash")
    for name, content in files.items():
        if name not in (".", "..", "-") and len(name.encode()) < 250:
            (root / name).write_bytes(content)
    script = "find . -type f -print0 | cut -z -c3- | LC_ALL=C sort -z | xargs -0 -r sha256sum -- | sha256sum"
    done = subprocess.run(
        ["bash", "-c", script], cwd=root, capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
    )
    assert dir_hash1(attested_manifest(root)) == done.stdout.split()[0]


def test_keys_are_made_once_and_kept_private(tmp_path: Path) -> None:
    """Mode 0600, a matching pair, and never overwritten."""
    private, public = tmp_path / "key.pem", tmp_path / "key.pub"
    keygen(private, public)
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert load_private_key(private).public_key() == load_public_key(public)
    before = private.read_bytes()
    with pytest.raises(KeyFileError, match="exists"):
        keygen(private, tmp_path / "other.pub")
    assert private.read_bytes() == before


def test_a_key_pair_is_whole_or_not_there(tmp_path: Path) -> None:
    """One name for both keys would keep only the public one; a public key without a place leaves no private one."""
    with pytest.raises(KeyFileError, match="both keys"):
        keygen(tmp_path / "a", tmp_path / "." / "a")
    with pytest.raises(KeyFileError, match="cannot be written"):
        keygen(tmp_path / "a", tmp_path / "nowhere" / "b")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_key_is_refused(tmp_path: Path) -> None:
    """Missing files, other text, the other half of the pair, another kind of key."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    keygen(tmp_path / "a", tmp_path / "b")
    (tmp_path / "text").write_text("no key")
    foreign = ec.generate_private_key(ec.SECP256R1())
    pem = foreign.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "foreign").write_bytes(pem)
    for name in ("missing", "text", "b", "foreign"):
        with pytest.raises(KeyFileError):
            load_private_key(tmp_path / name)
    for name in ("missing", "text", "a"):
        with pytest.raises(KeyFileError):
            load_public_key(tmp_path / name)


def test_signed_reports_have_a_good_attestation_beside_them(tmp_path: Path, directory: Path, envelope: dict[str, Any]) -> None:
    """Through a link too; not with other evidence, not as FAILED, not once the directory changed or the file is damaged."""
    from synth.keys import _public_pem

    key = tmp_path / "key.pub"
    key.write_bytes(_public_pem(KEY.public_key()))
    told = report(draft())
    assert signed_reports([told], {told.path: directory}, key) == set()
    assert write_attestation(directory, envelope) == attestation_path(directory)
    assert attestation_path(directory) == tmp_path / "batch_rename.attestation.intoto.jsonl"
    (tmp_path / "link").symlink_to("batch_rename")
    signed = {(told.path, told.sha256)}
    assert signed_reports([told], {told.path: tmp_path / "link"}, key) == signed
    assert signed_reports([replace(told, seed=9)], {told.path: directory}, key) == signed
    assert signed_reports([replace(told, evidence=replace(told.evidence, sha256="0" * 64))], {told.path: directory}, key) == set()
    failed = report(draft(), verdict=Verdict.FAIL, score=None, checks=(CheckResult("contained", Verdict.FAIL),))
    write_attestation(directory, sign(statement(failed, directory), KEY))
    assert signed_reports([told], {told.path: directory}, key) == set()
    attestation_path(directory).write_text("{")
    assert signed_reports([told], {told.path: directory}, key) == set()
    with pytest.raises(AttestationError):
        read_attestations(attestation_path(directory))
    write_attestation(directory, envelope)
    (directory / "skill.py").write_text("x = 1\n")
    assert signed_reports([told], {told.path: directory}, key) == set()


def test_an_attestation_ends(directory: Path) -> None:
    """On its last day it holds; the day after, it is no longer known (exit code 3)."""
    from datetime import date

    envelope = sign(statement(report(draft()), directory, None, date(2027, 1, 31)), KEY)
    assert verify(envelope, KEY.public_key(), directory, today=date(2027, 1, 31)).result == "PASSED"
    with pytest.raises(AttestationError, match="expired on 2027-01-31") as caught:
        verify(envelope, KEY.public_key(), directory, today=date(2027, 2, 1))
    assert caught.value.exit_code == 3
