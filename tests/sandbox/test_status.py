"""What the status says of engines that are old, odd, silent or fine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import docker.errors
import pytest
import urllib3.exceptions
from hypothesis import given
from hypothesis import strategies as st

from sandbox import engine
from sandbox.interface import Cause, SandboxError
from sandbox.status import EngineStatus, engine_status, runc_is_old, runc_version, status_of

VERSION: dict[str, Any] = {
    "Version": "28.1",
    "ApiVersion": "1.50",
    "Components": [{"Name": "runc", "Version": "1.3.3", "Details": {}}],
}
INFO: dict[str, Any] = {
    "KernelVersion": "6.12",
    "OperatingSystem": "Debian",
    "Architecture": "x86_64",
    "CgroupVersion": "2",
    "CgroupDriver": "systemd",
    "Driver": "overlay2",
    "SecurityOptions": ["name=seccomp,profile=builtin"],
    "Runtimes": {"runc": {}, "runsc": {}},
}


@pytest.mark.parametrize(
    ("version", "old"),
    [
        ("1.1.5+ds1-1+deb12u1", True),
        ("1.2.7", True),
        ("1.2.8", False),
        ("1.3.2", True),
        ("1.3.3", False),
        ("v1.3.3", False),
        ("1.4.0-rc.2", True),
        ("1.4.0-rc.3", False),
        ("1.4.0~rc3", False),
        ("1.4.0", False),
        ("1.4.1", False),
        ("1.5.0", False),
        ("2.0.0", False),
        ("", None),
        ("unknown", None),
    ],
)
def test_old_runc_is_recognised(version: str, old: bool | None) -> None:
    """Each release line got the fixes of November 2025 in a release of its own."""
    assert runc_is_old(version) is old


@given(st.text(max_size=20))
def test_no_version_text_breaks_the_status(text: str) -> None:
    """Engines say all kinds of things."""
    assert runc_is_old(text) in (True, False, None)


def test_a_sound_engine_with_the_image_misses_nothing() -> None:
    """All facts, no warning."""
    status = status_of(VERSION, INFO, "assay-sandbox:1", "f" * 64)
    assert status.missing == ""
    assert status.warnings == ()
    assert status.cgroup == "v2 (systemd)"
    assert status.runtimes == ("runc", "runsc")
    assert status.lines()[0] == "engine     28.1 (API 1.50)"


def test_a_missing_image_is_one_sentence() -> None:
    """With the command to type."""
    assert status_of(VERSION, INFO, None, "").missing == "the sandbox image is not built yet. Run: assay engine image"


def test_the_distributions_revision_of_runc_is_told() -> None:
    """``1.1.5+ds1-1+deb12u1`` tells a backport from the plain release."""
    part = {"Name": "runc", "Version": "1.1.5+ds1", "Details": {"GitCommit": "1.1.5+ds1-1+deb12u1"}}
    assert runc_version({"Components": [part]}, {}) == "1.1.5+ds1-1+deb12u1"
    assert runc_version({}, {"RuncCommit": {"ID": "abc"}}) == "abc"
    assert runc_version({}, {}) == ""


def test_engines_without_the_means_to_contain_are_warned_about() -> None:
    """An old runc, no seccomp, no limit of processes."""
    version = {**VERSION, "Components": [{"Name": "runc", "Version": "1.1.5"}]}
    status = status_of(version, {**INFO, "SecurityOptions": None, "PidsLimit": False}, "x", "")
    assert [text.split()[0] for text in status.warnings] == ["runc", "the", "the"]


def test_no_engine_is_a_status_not_an_exception(tmp_path: Path) -> None:
    """And one sentence says what to do."""
    status = engine_status(f"unix://{tmp_path}/none.sock")
    assert status == EngineStatus(answers=False, missing="connecting: no Docker Engine answers. Run `assay engine up`")
    assert status.lines() == ["engine     none answers", "missing: connecting: no Docker Engine answers. Run `assay engine up`"]


def test_probes_that_fail_say_why() -> None:
    """A reader learns which checks will not run, and the reason."""
    status = EngineStatus(True, "", probes={"nu": False, "supervise": True}, why_not={"nu": "not in the image"})
    assert status.lines()[-2:] == ["probe nu: no: not in the image", "probe supervise: yes"]


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (PermissionError(13, "Permission denied"), Cause.ENGINE_DENIED),
        (FileNotFoundError(2, "No such file or directory"), Cause.ENGINE_MISSING),
        (ConnectionRefusedError(111, "Connection refused"), Cause.ENGINE_MISSING),
        (ConnectionResetError(104, "Connection reset by peer"), Cause.ENGINE_LOST),
        (urllib3.exceptions.ProtocolError("Connection broken"), Cause.ENGINE_LOST),
        (docker.errors.DockerException("client version 1.40 is too old. Minimum supported is 1.44"), Cause.ENGINE_OLD),
        (docker.errors.APIError("x", explanation="write /var/lib/docker: no space left on device"), Cause.DISK),
        (docker.errors.ImageNotFound("x", explanation="No such image: a:b"), Cause.IMAGE_MISSING),
    ],
)
def test_what_the_sdk_raises_has_a_cause(error: Exception, cause: Cause) -> None:
    """Errors of docker-py and of its transport, as they were seen; every sentence says what was being done."""
    with pytest.raises(SandboxError) as caught, engine.translated("saying hello"):
        raise error
    assert caught.value.cause is cause
    assert "image" in caught.value.what or "saying hello" in caught.value.what


@pytest.mark.engine
def test_the_engine_here_tells_its_facts() -> None:
    """Every fact is there, and an image that is built is found."""
    status = engine_status(probe=False)
    assert status.answers
    assert all([status.engine, status.api, status.kernel, status.cgroup, status.storage, status.runtimes])


@pytest.mark.engine
def test_the_probes_come_from_a_real_run(sandbox_image: str) -> None:
    """With the image there, nothing is missing, and each probe has an answer."""
    status = engine_status()
    assert status.missing == ""
    assert status.image == sandbox_image
    assert {"supervise", "readdir_order", "nu"} <= set(status.probes)
    assert set(status.why_not) == {name for name, able in status.probes.items() if not able}
