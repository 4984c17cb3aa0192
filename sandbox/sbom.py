"""Bills of materials in CycloneDX: what the sandbox image holds, as measured in it, and what this installation is made of."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import metadata

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

DISTRIBUTION = "skill-assay"
_NAMESPACE = uuid.UUID("5b9c8f52-4c0e-5a53-9a3a-6f7b1f0f7f10")
"""Of the serial numbers: one content, one number."""


def image_bom(inventory: str, tag: str, identity: str) -> Bom:
    """The bill of an image: its packages with their versions, and the digests of its key programs.

    Args:
        inventory: what ``inventory.sh`` printed in it.
        tag: its name.
        identity: its id, ``sha256:…``.
    """
    facts = [line.split() for line in inventory.splitlines() if line.strip()]
    system = next((f[1] for f in facts if f[0] == "os" and len(f) > 1), "debian")
    release = next((f[2] for f in facts if f[0] == "os" and len(f) > 2), "")
    root = Component(
        name=tag.partition(":")[0], version=tag.partition(":")[2], type=ComponentType.CONTAINER, bom_ref=identity,
        hashes=[_sha256(identity.removeprefix("sha256:"))],
    )  # fmt: skip
    parts = [part for f in facts if (part := _part(f, system, release)) is not None]
    return _bom(root, parts, {root: parts})


def _part(fact: list[str], system: str, release: str) -> Component | None:
    """One line of the inventory; None for what is no component (architecture, locales, what is absent)."""
    if fact[0] == "binary" and len(fact) == 4:
        name, path, digest = fact[1:]
        return Component(
            name=name, type=ComponentType.FILE, bom_ref=f"file:{name}", hashes=[_sha256(digest)],
            properties=[Property(name="assay:path", value=path)],
        )  # fmt: skip
    if len(fact) == 4 and fact[3] == "installed":
        name, version, arch, _ = fact
        where = {"arch": arch, **({"distro": f"{system}-{release}"} if release else {})}
        url = PackageURL("deb", system, name, version, where)
        return Component(name=name, version=version, type=ComponentType.LIBRARY, purl=url, bom_ref=str(url))
    return None


def _sha256(digest: str) -> HashType:
    return HashType(alg=HashAlgorithm.SHA_256, content=digest)


def package_bom(name: str = DISTRIBUTION) -> Bom:
    """The bill of an installed distribution: everything that it needs, directly or not, at the version that is installed.

    Raises:
        metadata.PackageNotFoundError: it is not installed.
    """
    found: dict[str, Component] = {}
    needs: dict[str, list[str]] = {}
    pending: list[str] = [canonicalize_name(name)]
    while pending:
        key = pending.pop()
        if key in found:
            continue
        try:
            found[key] = _distribution(key)
        except metadata.PackageNotFoundError:
            if not found:
                raise
            continue  # an extra of another that nobody installed
        needs[key] = sorted(_needed(key))
        pending += needs[key]
    root = found[canonicalize_name(name)]
    others = [found[key] for key in sorted(found) if found[key] is not root]
    return _bom(root, others, {found[key]: [found[n] for n in names if n in found] for key, names in needs.items()})


def _distribution(key: str) -> Component:
    about = metadata.distribution(key)
    url = PackageURL("pypi", None, key, about.version)
    kind = ComponentType.APPLICATION if key == DISTRIBUTION else ComponentType.LIBRARY
    return Component(name=about.metadata["Name"], version=about.version, type=kind, purl=url, bom_ref=str(url))


def _needed(key: str) -> Iterator[str]:
    """What a distribution asks for on this machine, without extras."""
    for text in metadata.requires(key) or ():
        try:
            wanted = Requirement(text)
        except InvalidRequirement:
            continue
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
            yield canonicalize_name(wanted.name)


def _bom(root: Component, parts: list[Component], needs: dict[Component, list[Component]]) -> Bom:
    bom = Bom(components=parts, metadata=BomMetaData(component=root, timestamp=_now()))
    for one, wanted in needs.items():
        bom.register_dependency(one, wanted)
    listed = sorted(f"{c.bom_ref.value} {[h.content for h in c.hashes]}" for c in (root, *parts))
    bom.serial_number = uuid.uuid5(_NAMESPACE, json.dumps(listed))
    return bom


def _now() -> datetime:
    """The time of a reproducible build where one is given (reproducible-builds.org, SOURCE_DATE_EPOCH)."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now(UTC)


def dumped(bom: Bom) -> str:
    """A bill as JSON (CycloneDX 1.6)."""
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"
