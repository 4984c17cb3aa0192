"""What engine there is, what it can do, and what is missing, without changing anything."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sandbox import engine
from sandbox.image import current_tag
from sandbox.image_store import EngineImages
from sandbox.interface import Cause, SandboxError

RUNC_FIXED = ((1, 2, 8), (1, 3, 3), (1, 4, 0))
"""First releases of each line with the fixes for CVE-2025-31133, CVE-2025-52565 and CVE-2025-52881.
Source: runc's security advisories of 5 November 2025 (1.2.8, 1.3.3, 1.4.0-rc.3)."""

RUNC_FIXED_RC = 3
"""The release candidate of 1.4.0 that has them."""


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """Facts about the engine that would be used. Empty strings where nothing answers or it does not say."""

    answers: bool
    missing: str
    """One sentence about what is missing and what to do; empty where runs can start."""
    engine: str = ""
    api: str = ""
    runc: str = ""
    kernel: str = ""
    system: str = ""
    cgroup: str = ""
    """Version and driver, ``v2 (systemd)``."""
    storage: str = ""
    security: tuple[str, ...] = ()
    runtimes: tuple[str, ...] = ()
    image: str | None = None
    """Tag of the sandbox image, where the engine has it."""
    inventory: str = ""
    probes: Mapping[str, bool] = field(default_factory=dict)
    """What runs can rely on; empty where no run could be made."""
    why_not: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The status as text, a fact a line."""
        facts = {
            "engine": f"{self.engine} (API {self.api})" if self.answers else "none answers",
            "runc": self.runc,
            "kernel": self.kernel,
            "system": self.system,
            "cgroup": self.cgroup,
            "storage": self.storage,
            "security": ", ".join(self.security),
            "runtimes": ", ".join(self.runtimes),
            "image": self.image or "",
            "inventory": self.inventory[:16],
        }
        probes = {
            f"probe {name}": "yes" if ok else f"no: {self.why_not.get(name, 'no reason given')}"
            for name, ok in self.probes.items()
        }
        rows = [f"{key:<10} {value}" for key, value in facts.items() if value] + [
            f"{key}: {value}" for key, value in probes.items()
        ]
        return [*rows, *(f"warning: {text}" for text in self.warnings), *([f"missing: {self.missing}"] if self.missing else [])]


def engine_status(
    host: str | None = None, *, probe: bool = True, image: str | None = None, packages: Sequence[str] = ()
) -> EngineStatus:
    """The status of the engine at ``host`` (None = as the environment says). Never raises for a missing engine.

    Args:
        probe: open the sandbox once, where the image is there, to find out what runs can rely on.
        image: its name; None = the recipe's, with ``packages`` besides the recipe's own.
    """
    try:
        connected = engine.Engine(host)
    except SandboxError as error:
        return EngineStatus(answers=False, missing=error.diagnostics())
    try:
        status = read_status(connected, image, packages)
        return _with_probes(status, host) if probe else status
    except SandboxError as error:
        return EngineStatus(answers=False, missing=error.diagnostics())
    finally:
        connected.close()


def read_status(connected: engine.Engine, image: str | None = None, packages: Sequence[str] = ()) -> EngineStatus:
    """Facts that the engine tells about itself, and whether it has the image. Raises SandboxError where it stops answering."""
    with engine.translated("asking for the engine's facts"):
        info = dict(connected.client.info())
    tag = image or current_tag(EngineImages(connected.client), packages)
    if tag is None:
        return status_of(connected.version(), info, None, "")
    try:
        identity, labels = connected.image(tag)
    except SandboxError as error:
        if error.cause is not Cause.IMAGE_MISSING:
            raise
        return replace(status_of(connected.version(), info, None, ""), missing=error.diagnostics())
    return status_of(connected.version(), info, tag, labels.get("assay.inventory", identity))


def status_of(version: Mapping[str, Any], info: Mapping[str, Any], tag: str | None, inventory: str) -> EngineStatus:
    """The status in the engine's ``/version`` and ``/info`` answers."""
    runc = runc_version(version, info)
    return EngineStatus(
        answers=True,
        missing="" if tag else "the sandbox image is not built yet. Run: assay engine image",
        engine=str(version.get("Version", "")),
        api=str(version.get("ApiVersion", "")),
        runc=runc,
        kernel=str(info.get("KernelVersion", "")),
        system=f"{info.get('OperatingSystem', '')} {info.get('Architecture', '')}".strip(),
        cgroup=f"v{info.get('CgroupVersion', '1')} ({info.get('CgroupDriver', 'unknown driver')})",
        storage=str(info.get("Driver", "")),
        security=tuple(str(option) for option in info.get("SecurityOptions") or ()),
        runtimes=tuple(sorted(info.get("Runtimes") or {})),
        image=tag,
        inventory=inventory,
        warnings=warnings(runc, info),
    )


def runc_version(version: Mapping[str, Any], info: Mapping[str, Any]) -> str:
    """runc's version with the distribution's revision where it is told; empty where the engine uses another runtime."""
    for part in version.get("Components") or ():
        if part.get("Name") == "runc":
            revision = str((part.get("Details") or {}).get("GitCommit", ""))
            return revision if revision.startswith(str(part.get("Version"))) else str(part.get("Version", ""))
    return str((info.get("RuncCommit") or {}).get("ID", ""))


def runc_is_old(text: str) -> bool | None:
    """Whether a runc is older than the fixes of November 2025; None where its version cannot be read."""
    match = re.match(r"v?(\d+)\.(\d+)\.(\d+)(?:[-~]rc\.?(\d+))?", text)
    if match is None:
        return None
    number = (int(match[1]), int(match[2]), int(match[3]))
    if number == RUNC_FIXED[-1] and match[4]:
        return int(match[4]) < RUNC_FIXED_RC
    line = [fixed for fixed in RUNC_FIXED if fixed[:2] == number[:2]]
    return number < line[0] if line else number < RUNC_FIXED[0]


def warnings(runc: str, info: Mapping[str, Any]) -> tuple[str, ...]:
    """What a careful user should know about this engine, a sentence each."""
    out: list[str] = []
    if runc_is_old(runc):
        out.append(
            f"runc {runc} is older than the releases that fix CVE-2025-31133, CVE-2025-52565 and CVE-2025-52881 "
            "(1.2.8, 1.3.3, 1.4.0-rc.3); update it unless your distribution has backported them"
        )
    if not any("seccomp" in str(option) for option in info.get("SecurityOptions") or ()):
        out.append("the engine reports no seccomp support; runs would be refused or less contained")
    if info.get("PidsLimit") is False:
        out.append("the engine cannot limit the number of processes; runs are refused")
    return tuple(out)


def _with_probes(status: EngineStatus, host: str | None) -> EngineStatus:
    """The status with what a real run finds out. A sandbox that cannot be opened is what is missing."""
    if status.image is None:
        return status
    from sandbox import open_sandbox

    try:
        with open_sandbox(image=status.image, host=host, workers=1) as sandbox:
            info = sandbox.info
            return replace(status, probes=info.probes, why_not=info.why_not, inventory=info.inventory)
    except SandboxError as error:
        cause = "" if error.cause is Cause.IMAGE_MISSING else "runs cannot start: "
        return replace(status, missing=f"{cause}{error.diagnostics()}")
