"""Attestations: an in-toto Statement with a Test Result predicate, in a DSSE envelope signed with Ed25519.

It says that these files were verified with this result; who trusts the key can then skip verifying again. Nothing is said about
what is not known: there is no attestation for INCONCLUSIVE or partial reports.

Source: in-toto attestation framework v1 (Statement, Test Result v0.1, ``dirHash1``), DSSE v1 (pre-authentication encoding).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, ClassVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from synth import exported
from synth.draft import MARK
from synth.files import Manifest, manifest, manifest_digest, write_atomic
from synth.judged_by import judge_code
from synth.keys import KeyFileError, key_id, load_private_key, load_public_key
from synth.registry.receipt import bindings_sha256, canonical, decisions_sha256, document_sha256, plain, report_document
from verifiers.gating.discover import ATTACHED
from verifiers.interface import AssayError, Report, Verdict

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://in-toto.io/attestation/test-result/v0.1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
OUR_DIGEST = "assayManifest1"
"""Digest of modes, links and empty directories too, which ``dirHash1`` leaves out."""
AGAIN = "Attest the skill again with 'assay registry attest sign'"
ITS_FILE = "Give the file that 'assay registry attest sign' wrote"


class AttestationError(AssayError, ValueError):
    """An attestation that does not hold, or cannot be made."""

    exit_code: ClassVar[int] = 1


class AttestationExpired(AttestationError):
    """An attestation that held once."""

    exit_code: ClassVar[int] = 3


@dataclass(frozen=True, slots=True)
class Attested:
    """What a verified attestation says."""

    statement: Mapping[str, Any]
    result: str
    """PASSED or FAILED."""
    report_sha256: str
    key_id: str


# ------------------------------------------------------------ what is attested


def attested_manifest(directory: Path) -> dict[str, Any]:
    """The manifest of a skill's directory, without our own mark of drafts; of an exported one, that of what it was made of."""
    if exported.is_exported(directory):
        return exported.verified_files(directory)
    return {path: fact for path, fact in manifest(directory).items() if path != MARK}


def dir_hash1(facts: Manifest) -> str:
    """in-toto's ``dirHash1``: files' names and contents only.

    ``find . -type f | cut -c3- | LC_ALL=C sort | xargs -r sha256sum | sha256sum``
    """
    files = sorted((os.fsencode(path), fact.sha256) for path, fact in facts.items() if fact.kind == "file")
    text = b"".join(_sha256sum_line(name, digest) for name, digest in files)
    return hashlib.sha256(text).hexdigest()


def _sha256sum_line(name: bytes, digest: str) -> bytes:
    """As coreutils prints it: a name with a backslash, newline or carriage return is escaped and its line marked."""
    escaped = name.replace(b"\\", b"\\\\").replace(b"\n", b"\\n").replace(b"\r", b"\\r")
    return (b"\\" if escaped != name else b"") + digest.encode() + b"  " + escaped + b"\n"


def statement(report: Report, directory: Path, policy_sha256: str | None = None, expires: date | None = None) -> dict[str, Any]:
    """The in-toto Statement about a skill's directory.

    Args:
        report: A full PASS or FAIL about the ``skill.py`` in it.
        directory: The draft or the registered version.
        policy_sha256: Digest of the policy that it was judged under.
        expires: The last day on which it holds; None = for ever.

    Raises:
        AttestationError: the report is inconclusive, partial, or about other code.
    """
    if report.verdict is Verdict.INCONCLUSIVE:
        raise AttestationError("nothing is attested for INCONCLUSIVE", f"First make it conclusive: {report.why}", directory)
    if report.partial:
        raise AttestationError("nothing is attested for a partial report", "Verify without --checks and --static", directory)
    facts = attested_manifest(directory)
    skill = facts.get("skill.py")
    if skill is None or skill.sha256 != report.sha256:
        raise AttestationError("the report is about other code", "Verify this directory again", directory)
    document = report_document(report)
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": report.name, "digest": {"dirHash1": dir_hash1(facts), OUR_DIGEST: manifest_digest(facts)}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": _predicate(report, document, policy_sha256, expires),
    }


def _predicate(report: Report, document: Mapping[str, Any], policy_sha256: str | None, expires: date | None) -> dict[str, Any]:
    configuration = [
        {"name": "skill.py", "digest": {"sha256": report.sha256}},
        {"name": "evidence", "digest": {"sha256": report.evidence.sha256}},
        {"name": "bindings", "digest": {"sha256": bindings_sha256(report.bindings)}},
        {"name": "report", "digest": {"sha256": document_sha256(document)}, "annotations": _annotations(report, expires)},
    ]
    if report.decisions:
        configuration.append({"name": "decisions", "digest": {"sha256": decisions_sha256(report.decisions)}})
    if report.sandbox is not None and report.sandbox.inventory:
        configuration.append({"name": "sandbox-image", "digest": {"sha256": report.sandbox.inventory}})
    if policy_sha256 is not None:
        configuration.append({"name": "policy", "digest": {"sha256": policy_sha256}})
    by_verdict = {v: sorted(c.id for c in report.checks if c.verdict is v) for v in Verdict}
    return {
        "result": "PASSED" if report.verdict is Verdict.PASS else "FAILED",
        "configuration": configuration,
        "passedTests": by_verdict[Verdict.PASS],
        "warnedTests": by_verdict[Verdict.INCONCLUSIVE],
        "failedTests": by_verdict[Verdict.FAIL],
    }


def _annotations(report: Report, expires: date | None) -> dict[str, Any]:
    return {
        "judge": judge_code(),
        "expires": expires.isoformat() if expires is not None else None,
        "score": report.score.value if report.score is not None else None,
        "budget": report.budget,
        "profile": report.profile,
        "seed": report.seed,
        "tools": plain(report.tools),
        "capabilities": sorted(report.capabilities),
    }


# ------------------------------------------------------------ envelope


def sign(statement_document: Mapping[str, Any], key: Ed25519PrivateKey) -> dict[str, Any]:
    """The DSSE envelope of a statement. One line of JSON of it makes an in-toto bundle (``<name>.intoto.jsonl``)."""
    payload = canonical(statement_document)
    signature = key.sign(pre_authentication(PAYLOAD_TYPE, payload))
    return {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(payload).decode(),
        "signatures": [{"keyid": key_id(key.public_key()), "sig": base64.b64encode(signature).decode()}],
    }


def pre_authentication(payload_type: str, payload: bytes) -> bytes:
    """DSSE's PAE: type and payload with their lengths, so that neither can be read as the other."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def verify(
    envelope: object, key: Ed25519PublicKey, directory: Path, report: Report | Mapping[str, Any] | None = None,
    today: date | None = None,
) -> Attested:  # fmt: skip
    """Checks an attestation against a key, the files it is about and (where given) the report, and returns what it says.

    Args:
        envelope: The parsed JSON of the envelope.
        report: The report, or its stored ``assay-report/1`` document, that must be the attested one.
        today: For its expiry; None = by the clock.

    Raises:
        AttestationExpired: its last day is over.
        AttestationError: signed by another key, tampered with, about other files or another report, or not of this kind at all.
    """
    payload = _authenticated(envelope, key)
    document = _statement_of(payload)
    _check_subject(document, attested_manifest(directory), directory)
    changed = exported.edits(directory)
    if changed:
        raise AttestationError(f"it was edited since it was exported: {', '.join(changed)}", "Export it again", directory)
    predicate = document["predicate"]
    _check_expiry(predicate, today or datetime.now(UTC).date())
    attested = _report_digest(predicate)
    if report is not None:
        given = document_sha256(report_document(report) if isinstance(report, Report) else report)
        if given != attested:
            raise AttestationError(
                "the report is not the attested one", "It was changed after it was attested: verify the skill again", directory
            )
    return Attested(document, predicate["result"], attested, key_id(key))


def _authenticated(envelope: object, key: Ed25519PublicKey) -> bytes:
    try:
        if not isinstance(envelope, dict):
            raise TypeError("not an object")
        payload = base64.b64decode(envelope["payload"], validate=True)
        signatures = [base64.b64decode(s["sig"], validate=True) for s in envelope["signatures"]]
        kind = str(envelope["payloadType"])
    except (KeyError, TypeError, AttributeError, binascii.Error, ValueError) as e:
        raise AttestationError("is not a DSSE envelope", ITS_FILE) from e
    if kind != PAYLOAD_TYPE:
        raise AttestationError(f"the payload is {kind!r}, not an in-toto statement", ITS_FILE)
    signed = pre_authentication(kind, payload)
    for signature in signatures:
        try:
            key.verify(signature, signed)
        except InvalidSignature:
            continue
        return payload
    raise AttestationError("no signature of this key fits", "It was changed, or signed with another key")


def _statement_of(payload: bytes) -> dict[str, Any]:
    try:
        document = json.loads(payload)
    except (ValueError, RecursionError) as e:
        raise AttestationError("the signed payload is not JSON", AGAIN) from e
    if (
        not isinstance(document, dict)
        or document.get("_type") != STATEMENT_TYPE
        or document.get("predicateType") != PREDICATE_TYPE
    ):
        raise AttestationError("the signed payload is not a test result", AGAIN)
    predicate = document.get("predicate")
    if not isinstance(predicate, dict) or predicate.get("result") not in ("PASSED", "FAILED"):
        raise AttestationError("the signed test result has no result", AGAIN)
    return document


def _check_subject(document: Mapping[str, Any], facts: Manifest, directory: Path) -> None:
    wanted = {"dirHash1": dir_hash1(facts), OUR_DIGEST: manifest_digest(facts)}
    subjects = document.get("subject")
    digests = [s.get("digest") for s in subjects if isinstance(s, dict)] if isinstance(subjects, list) else []
    if wanted not in digests:
        raise AttestationError(
            "it is about other files", "The directory was changed after it was attested: verify and attest it again", directory
        )


def _check_expiry(predicate: Mapping[str, Any], today: date) -> None:
    items = predicate.get("configuration")
    notes = [i.get("annotations") for i in items if isinstance(i, dict)] if isinstance(items, list) else []
    for last in (n["expires"] for n in notes if isinstance(n, dict) and n.get("expires") is not None):
        try:
            over = date.fromisoformat(str(last)) < today
        except ValueError as e:
            raise AttestationError("the signed day of expiry is none", AGAIN) from e
        if over:
            raise AttestationExpired(f"expired on {last}", "Verify the skill again and attest it")


def _report_digest(predicate: Mapping[str, Any]) -> str:
    items = predicate.get("configuration")
    for item in items if isinstance(items, list) else []:
        if isinstance(item, dict) and item.get("name") == "report" and isinstance(item.get("digest"), dict):
            return str(item["digest"].get("sha256"))
    raise AttestationError("the signed test result names no report", AGAIN)


# ------------------------------------------------------------ files


def attestation_path(directory: Path) -> Path:
    """Where the attestation of a skill's directory lies: beside it, for it is no part of what it attests. Links are followed.

    An exported skill carries its own.
    """
    real = directory.resolve()
    if exported.is_exported(real):
        return real / ATTACHED / exported.ATTESTATION
    return real.with_name(f"{real.name}.attestation.intoto.jsonl")


def write_attestation(directory: Path, envelope: Mapping[str, Any], path: Path | None = None) -> Path:
    """Writes the attestation beside its directory (or to ``path``), replacing an older one, and returns its path.

    Raises:
        KeyFileError: it cannot be written; the older one is still there.
    """
    path = path or attestation_path(directory)
    try:
        write_atomic(path, canonical(envelope) + b"\n")
    except OSError as e:
        raise KeyFileError(f"cannot be written ({e.strerror})", "Give another file with -o", path) from e
    return path


def signer(key_file: Path) -> Callable[[Path, Report], Path]:
    """What attests a directory with a report, and gives the attestation's path. The key is read once, now.

    Raises:
        KeyFileError: it cannot be read.
    """
    key = load_private_key(key_file)
    return lambda directory, report: write_attestation(directory, sign(statement(report, directory), key))


def read_attestations(path: Path) -> list[Any]:
    """The envelopes in an attestation file, one a line; none if there is no file.

    Raises:
        AttestationError: the file cannot be read, or is not JSON lines.
    """
    try:
        return [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
    except FileNotFoundError:
        return []
    except OSError as e:
        raise AttestationError(f"cannot be read ({e.strerror})", ITS_FILE, path) from e
    except (ValueError, RecursionError) as e:
        raise AttestationError("is not a file of attestations", AGAIN, path) from e


def signed_reports(reports: Iterable[Report], directories: Mapping[str, Path], public_key: Path) -> set[tuple[str, str]]:
    """``(path, sha256)`` of the reports whose skill, evidence and bindings are attested as PASSED under a key.

    Args:
        reports: Of this run; their verdicts may come from other budgets than the attested one's, their inputs may not.
        directories: Report path -> the skill's directory.

    Raises:
        KeyFileError: the key cannot be read.
    """
    key = load_public_key(public_key)
    return {(r.path, r.sha256) for r in reports if r.path in directories and _is_signed(r, directories[r.path], key)}


def _configuration(statement: Mapping[str, Any]) -> dict[str, object]:
    """Name -> SHA-256 of what a statement is about; what is not of that form is left out."""
    predicate = statement.get("predicate")
    listed = predicate.get("configuration") if isinstance(predicate, dict) else None
    rows = [c for c in listed if isinstance(c, dict)] if isinstance(listed, list) else []
    return {str(c.get("name")): c["digest"].get("sha256") for c in rows if isinstance(c.get("digest"), dict)}


def _is_signed(report: Report, directory: Path, key: Ed25519PublicKey) -> bool:
    wanted: dict[str, object] = {
        "skill.py": report.sha256,
        "evidence": report.evidence.sha256,
        "bindings": bindings_sha256(report.bindings),
        "decisions": decisions_sha256(report.decisions) if report.decisions else None,
    }
    try:
        envelopes = read_attestations(attestation_path(directory))
    except AttestationError:
        return False
    for envelope in envelopes:
        try:
            attested = verify(envelope, key, directory)
        except (AttestationError, OSError):
            continue
        items = _configuration(attested.statement)
        if attested.result == "PASSED" and all(items.get(name) == digest for name, digest in wanted.items()):
            return True
    return False
