"""Opens a sandbox: connects, sweeps, starts one container to see what this engine and image can do."""

from __future__ import annotations

from collections.abc import Sequence

from sandbox import owner
from sandbox.container import LABEL, ContainerSpec
from sandbox.engine import Engine
from sandbox.image import current_tag, measured_inventory
from sandbox.image_store import EngineImages, open_images
from sandbox.interface import Cause, SandboxError, SandboxInfo
from sandbox.pool import DockerSandbox, default_workers
from sandbox.worker import Live


def open_sandbox(
    *,
    image: str | None = None,
    runtime: str | None = None,
    workers: int | None = None,
    host: str | None = None,
    packages: Sequence[str] = (),
) -> DockerSandbox:
    """Connects to a Docker Engine and proves that the image works there.

    Args:
        image: Name of an image; None = the one whose tag is the digest of the project's recipe.
        runtime: Another OCI runtime, such as ``runsc``.
        workers: Containers a session has at most; None = one for each core.
        host: ``unix://`` or ``tcp://`` address; None = ``DOCKER_HOST``, else the local engine.
        packages: What the recipe's image holds besides the recipe's own packages.

    Raises:
        SandboxError: no engine, no image, or an option that had no effect. Nothing falls back to the host.
    """
    engine = Engine(host)
    try:
        engine.sweep()
        name = image or _recipe_tag(host, packages)
        identity, _ = engine.image(name)
        inventory = measured_inventory(EngineImages(engine.client), identity, identity)
        spec = ContainerSpec(image=identity, runtime=runtime, labels={LABEL: owner.label()})
        info = _look(engine, spec, name, inventory)
    except BaseException:
        engine.close()
        raise
    return DockerSandbox(engine, spec, info, workers or default_workers())


def _recipe_tag(host: str | None, packages: Sequence[str]) -> str:
    with open_images(host) as store:
        tag = current_tag(store, packages)
    if tag is None:
        raise SandboxError(Cause.IMAGE_MISSING, "the sandbox image has not been built here", "Run `assay engine image`")
    return tag


def _look(engine: Engine, spec: ContainerSpec, name: str, inventory: str) -> SandboxInfo:
    live = Live(engine, spec, probe=True)
    try:
        hello = live.hello
    finally:
        live.stop()
    able: dict[str, str] = hello["able"]
    return SandboxInfo(
        runtime=spec.runtime or "runc",
        image=name,
        inventory=inventory,
        engine=engine.describe(),
        kernel=hello["kernel"],
        probes={k: not why for k, why in able.items()},
        why_not={k: why for k, why in able.items() if why},
    )
