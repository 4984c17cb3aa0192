"""``assay attest``: signed statements about what was verified."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from synth.cli import console
from synth.cli.files import write_atomically
from synth.cli.report import read

FILE = click.Path(path_type=Path)
ENVELOPE = "attestation.intoto.jsonl"
"""Beside the skill, unless the command line says where."""


@click.group("attest", short_help="Sign and verify attestations.")
def command() -> None:
    """In-toto statements with the test-result predicate, in DSSE envelopes signed with Ed25519."""


@command.command("keygen")
@click.argument("private", type=FILE)
@click.argument("public", type=FILE, required=False)
def keygen(private: Path, public: Path | None) -> int:
    """Makes a key pair: PRIVATE (keep it secret) and PUBLIC (default: PRIVATE.pub)."""
    from synth.attest import keygen as make

    other = public or private.with_name(f"{private.name}.pub")
    console.out(f"{private} and {other}: key {make(private, other)}")
    return 0


@command.command("sign")
@click.argument("directory", type=FILE)
@click.option("--report", "report_file", required=True, type=FILE, metavar="FILE", help="From `assay verify --format json`.")
@click.option("--key", required=True, type=FILE, metavar="FILE", help="The private key.")
@click.option("-o", "--output", type=FILE, metavar="FILE", help=f"Default: {ENVELOPE} beside DIRECTORY.")
def sign(directory: Path, report_file: Path, key: Path, output: Path | None) -> int:
    """Signs what the report says of the skill in DIRECTORY. Nothing is signed for INCONCLUSIVE."""
    from synth.attest import load_private_key, statement
    from synth.attest import sign as seal
    from verifiers.interface import NothingToVerify

    reports = read(report_file)
    if len(reports) != 1:
        raise NothingToVerify(f"holds {len(reports)} reports", "Give the report of one skill", report_file)
    envelope = seal(statement(reports[0], directory), load_private_key(key))
    target = output or beside(directory)
    write_atomically(target, json.dumps(envelope, sort_keys=True))
    console.out(str(target))
    return 0


@command.command("verify")
@click.argument("directory", type=FILE)
@click.option("--key", required=True, type=FILE, metavar="FILE", help="The public key.")
@click.option("--attestation", type=FILE, metavar="FILE", help=f"Default: {ENVELOPE} beside DIRECTORY.")
@click.option("--report", "report_file", type=FILE, metavar="FILE", help="The report that must be the attested one.")
def verify(directory: Path, key: Path, attestation: Path | None, report_file: Path | None) -> int:
    """Checks an attestation against the key and the files in DIRECTORY. Exit code 1: it does not hold."""
    from synth.attest import load_public_key
    from synth.attest import verify as check

    envelope = read_envelope(attestation or beside(directory))
    report = read(report_file)[0] if report_file is not None else None
    attested = check(envelope, load_public_key(key), directory, report)
    console.out(f"{attested.result}: report {attested.report_sha256[:12]}, signed with key {attested.key_id[:12]}")
    return 0


def beside(directory: Path) -> Path:
    """Where the attestation of a directory lies: beside it, so that signing does not change what was signed."""
    resolved = directory.resolve()
    return resolved.with_name(f"{resolved.name}.{ENVELOPE}")


def read_envelope(path: Path) -> Any:
    """The parsed envelope.

    Raises:
        KeyFileError: there is none, or it is not JSON.
    """
    from synth.attest import KeyFileError

    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise KeyFileError(f"is no attestation ({e})", "Make one with: assay attest sign", path) from e
