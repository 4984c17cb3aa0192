"""``assay attest``: signed statements about what was verified."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from synth.cli import console
from synth.cli.report import read

if TYPE_CHECKING:
    from verifiers.interface import Report

FILE = click.Path(path_type=Path)


@click.group("attest", short_help="Sign and verify attestations.")
def command() -> None:
    """In-toto statements with the test-result predicate, in DSSE envelopes signed with Ed25519."""


@command.command("keygen")
@click.argument("private", type=FILE)
@click.argument("public", type=FILE, required=False)
def keygen(private: Path, public: Path | None) -> int:
    """Makes a key pair: PRIVATE (keep it secret) and PUBLIC (default: PRIVATE.pub)."""
    from synth.keys import keygen as make

    if not private.name:
        raise click.BadParameter("is no file", param_hint="PRIVATE")
    other = public or private.with_name(f"{private.name}.pub")
    console.out(f"{private} and {other}: key {make(private, other)}")
    return 0


@command.command("sign")
@click.argument("directory", type=FILE)
@click.option("--report", "report_file", required=True, type=FILE, metavar="FILE", help="From `assay verify --format json`.")
@click.option("--key", required=True, type=FILE, metavar="FILE", help="The private key.")
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Default: DIRECTORY.attestation.intoto.jsonl.")
def sign(directory: Path, report_file: Path, key: Path, output: Path | None) -> int:
    """Signs what the report says of the skill in DIRECTORY. Nothing is signed for INCONCLUSIVE."""
    from synth.attest import sign as seal
    from synth.attest import statement, write_attestation
    from synth.keys import load_private_key

    envelope = seal(statement(_one_report(report_file), directory), load_private_key(key))
    console.out(str(write_attestation(directory, envelope, output)))
    return 0


@command.command("verify")
@click.argument("directory", type=FILE)
@click.option("--key", required=True, type=FILE, metavar="FILE", help="The public key.")
@click.option("--attestation", type=FILE, metavar="FILE", help="Default: DIRECTORY.attestation.intoto.jsonl.")
@click.option("--report", "report_file", type=FILE, metavar="FILE", help="The report that must be the attested one.")
def verify(directory: Path, key: Path, attestation: Path | None, report_file: Path | None) -> int:
    """Checks an attestation against the key and the files in DIRECTORY. Exit code 1: it does not hold."""
    from synth.attest import AttestationError, attestation_path, read_attestations
    from synth.attest import verify as check
    from synth.keys import KeyFileError, load_public_key

    public, path = load_public_key(key), attestation or attestation_path(directory)
    envelopes = read_attestations(path)
    if not envelopes:
        raise KeyFileError("there is no attestation", "Make one with: assay attest sign", path)
    if len(envelopes) > 1:
        raise AttestationError(f"holds {len(envelopes)} attestations", "Give a file with one", path)
    report = _one_report(report_file) if report_file is not None else None
    attested = check(envelopes[0], public, directory, report)
    console.out(f"{attested.result}: report {attested.report_sha256[:12]}, signed with key {attested.key_id[:12]}")
    return 0


def _one_report(file: Path) -> Report:
    """The one report in a file.

    Raises:
        NothingToVerify: none, or several.
    """
    from verifiers.interface import NothingToVerify

    reports = read(file)
    if len(reports) != 1:
        raise NothingToVerify(f"holds {len(reports)} reports", "Give the report of one skill", file)
    return reports[0]
