"""Bills of materials: every package and program that was measured, every distribution that is needed, valid CycloneDX."""

from __future__ import annotations

import json
from importlib import metadata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.sbom import dumped, image_bom, package_bom

INVENTORY = f"""os debian 12
arch x86_64
bash 5.2.15-2+b2 amd64 installed
zlib1g 1:1.2.13.dfsg-1 amd64 installed
binary bash /usr/bin/bash {"a" * 64}
absent nu
locale C.utf8
"""
IDENTITY = f"sha256:{'b' * 64}"


def read(inventory: str = INVENTORY) -> dict[str, Any]:
    document = json.loads(dumped(image_bom(inventory, "assay-sandbox:1", IDENTITY)))
    assert isinstance(document, dict)
    return document


def test_an_image_is_its_packages_and_its_programs() -> None:
    """Versions as dpkg has them, digests as measured."""
    bom = read()
    assert (bom["bomFormat"], bom["specVersion"]) == ("CycloneDX", "1.6")
    assert bom["metadata"]["component"]["hashes"] == [{"alg": "SHA-256", "content": "b" * 64}]
    assert sorted(c.get("purl", c["name"]) for c in bom["components"]) == [
        "bash",
        "pkg:deb/debian/bash@5.2.15-2%2Bb2?arch=amd64&distro=debian-12",
        "pkg:deb/debian/zlib1g@1:1.2.13.dfsg-1?arch=amd64&distro=debian-12",
    ]
    assert next(c for c in bom["components"] if c["type"] == "file")["hashes"][0]["content"] == "a" * 64


def test_one_content_has_one_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same image gives the same bill, another one another."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1600000000")
    assert read() == read()
    assert read()["metadata"]["timestamp"].startswith("2020-09-13")
    assert read()["serialNumber"] != read(INVENTORY.replace("5.2.15", "5.2.16"))["serialNumber"]


def test_an_installation_is_everything_that_it_needs() -> None:
    """Directly or not, each once, with who needs whom."""
    bom = json.loads(dumped(package_bom()))
    found = {c["name"].lower(): c["version"] for c in bom["components"]}
    assert bom["metadata"]["component"]["name"] == "skill-assay"
    assert found["docker"] == metadata.version("docker")
    assert "urllib3" in found  # docker needs it
    needs = {d["ref"]: d.get("dependsOn", []) for d in bom["dependencies"]}
    assert any("docker@" in ref for ref in needs[bom["metadata"]["component"]["bom-ref"]])
    with pytest.raises(metadata.PackageNotFoundError):
        package_bom("a-name-that-nobody-has-installed")


@given(
    st.lists(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Zs", "Zl", "Zp")), min_size=1), max_size=5))
)
def test_any_inventory_can_be_listed(lines: list[list[str]]) -> None:
    """What a foreign image prints is data."""
    read("\n".join(" ".join(words) for words in lines))
