"""``assay registry attest``: signed statements about what was verified."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli import console
from synth.cli.exits import FAIL, INCONCLUSIVE, PASS
from synth.cli.groups import Group
from synth.cli.home import config
from synth.cli.report import read
from synth.cli.settings import Judging, sandbox_options

if TYPE_CHECKING:
    from verifiers.interface import Report

FILE = click.Path(path_type=Path)


@click.group("attest", cls=Group, short_help="Sign and verify attestations.")
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
@click.option("--policy", type=FILE, metavar="FILE", help="The policy that it was judged under; its digest is signed.")
@click.option("--days", type=click.IntRange(1), default=180, show_default=True, help="How long the attestation holds.")
@sandbox_options
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Default: DIRECTORY.attestation.intoto.jsonl.")
def sign(directory: Path, report_file: Path, key: Path, policy: Path | None, days: int, output: Path | None, **rest: Any) -> int:
    """Signs what the report says of the skill in DIRECTORY. Nothing is signed for INCONCLUSIVE.

    The report must be the one that the same files give here: from the cache, else by verifying again.
    """
    from synth.attest import sign as seal
    from synth.attest import statement, write_attestation
    from synth.keys import load_private_key

    report, secret = _one_report(report_file), load_private_key(key)
    last = (datetime.now(UTC) + timedelta(days=days)).date()
    digest = hashlib.sha256(policy.read_bytes()).hexdigest() if policy is not None else None
    document = statement(report, directory, digest, last)
    _must_be_found_again(report, directory, rest)
    console.out(str(write_attestation(directory, seal(document, secret), output)))
    return PASS


def _must_be_found_again(report: Report, directory: Path, options: dict[str, Any]) -> None:
    """Compares a report with what the files give, whoever wrote the report.

    Raises:
        AttestationError: they give another one.
    """
    from synth.attest import AttestationError
    from synth.cli.targets import target_of
    from synth.cli.verifying import Verifier
    from synth.registry.receipt import report_document
    from verifiers.gating.cache import open_cache

    def facts(found: Report) -> dict[str, Any]:
        return {**report_document(found), "subject": found.sha256, "name": found.name}

    target = target_of(directory)
    judging = Judging.of({**options, "budget": report.budget, "profile": report.profile}, config(directory))
    judging = replace(judging, excluded=dict(report.excluded))
    if judging.seed is None and report.seed is not None and not judging.salt:
        known = Verifier(judging, open_cache()).known(target)
        if known is not None and facts(known) == facts(report):
            return
    with Verifier(replace(judging, seed=report.seed)) as verifier:
        found = verifier.fresh(target)
    if facts(found) != facts(report):
        what = "these files do not give this report here"
        raise AttestationError(f"{what}: {found.verdict.name} was found", "Verify them again and sign what comes out", directory)


@command.command("verify")
@click.argument("directory", type=FILE)
@click.option("--key", required=True, type=FILE, metavar="FILE", help="The public key.")
@click.option("--attestation", type=FILE, metavar="FILE", help="Default: DIRECTORY.attestation.intoto.jsonl.")
@click.option("--report", "report_file", type=FILE, metavar="FILE", help="The report that must be the attested one.")
def verify(directory: Path, key: Path, attestation: Path | None, report_file: Path | None) -> int:
    """Checks an attestation against the key and the files in DIRECTORY.

    Exit code 0: it holds and says PASSED. 1: it says FAILED, or does not hold. 3: it is inconclusive, or has expired.
    """
    from synth.attest import AttestationError, attestation_path, read_attestations
    from synth.attest import verify as check
    from synth.keys import KeyFileError, load_public_key

    public, path = load_public_key(key), attestation or attestation_path(directory)
    envelopes = read_attestations(path)
    if not envelopes:
        raise KeyFileError("there is no attestation", "Make one with: assay registry attest sign", path)
    if len(envelopes) > 1:
        raise AttestationError(f"holds {len(envelopes)} attestations", "Give a file with one", path)
    report = _one_report(report_file) if report_file is not None else None
    attested = check(envelopes[0], public, directory, report)
    console.out(f"{attested.result}: report {attested.report_sha256[:12]}, signed with key {attested.key_id[:12]}")
    return {"PASSED": PASS, "FAILED": FAIL}.get(attested.result, INCONCLUSIVE)


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
