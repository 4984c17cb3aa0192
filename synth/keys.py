"""Key files: Ed25519 pairs in PEM, made once and never overwritten."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from synth.files import write_atomic
from verifiers.interface import AssayError

MAKE = "Make one with 'assay registry attest keygen'"
PUBLIC = "Give the file that 'assay registry attest keygen' wrote as the public one"


class KeyFileError(AssayError, OSError):
    """A key file that cannot be read as one."""


def keygen(private: Path, public: Path) -> str:
    """Writes a new key pair (PEM; the private one readable by its owner only) and returns the key's id.

    Raises:
        KeyFileError: one of the files exists, or cannot be written. An existing key is never overwritten.
    """
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    if private.resolve() == public.resolve():
        raise KeyFileError("is named for both keys", "Name two files", private)
    for path in (private, public):
        if os.path.lexists(path):
            raise KeyFileError("exists already", "Name another file: keys are not overwritten", path)
    for path, data, mode in ((private, pem, 0o600), (public, _public_pem(key.public_key()), 0o644)):
        try:
            write_atomic(path, data, mode)
        except OSError as e:
            private.unlink(missing_ok=True)  # one key without the other would only be in the way
            advice = "Name a directory that exists and can be written"
            raise KeyFileError(f"cannot be written ({e.strerror})", advice, path) from e
    return key_id(key.public_key())


def _public_pem(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def key_id(key: Ed25519PublicKey) -> str:
    """SHA-256 (hex) of the public key's raw bytes."""
    return hashlib.sha256(key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)).hexdigest()


def load_private_key(path: Path) -> Ed25519PrivateKey:
    """The private key in a PEM file.

    Raises:
        KeyFileError: it is missing or is no Ed25519 private key.
    """
    try:
        key = serialization.load_pem_private_key(_read(path), None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as e:
        raise KeyFileError("is not a private key", MAKE, path) from e
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFileError("is not an Ed25519 key", MAKE, path)
    return key


def load_public_key(path: Path) -> Ed25519PublicKey:
    """The public key in a PEM file.

    Raises:
        KeyFileError: it is missing or is no Ed25519 public key.
    """
    try:
        key = serialization.load_pem_public_key(_read(path))
    except (ValueError, UnsupportedAlgorithm) as e:
        raise KeyFileError("is not a public key", PUBLIC, path) from e
    if not isinstance(key, Ed25519PublicKey):
        raise KeyFileError("is not an Ed25519 key", PUBLIC, path)
    return key


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as e:
        raise KeyFileError(f"cannot be read ({e.strerror})", "Make a key pair with 'assay registry attest keygen'", path) from e
