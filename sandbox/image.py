"""The sandbox image: found by the digest of its recipe, else built in one of two forms with the same content."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import platformdirs

from sandbox.daemon import Say
from sandbox.interface import Cause, SandboxError
from sandbox.nushell import fetched_nu
from sandbox.recipe import REPOSITORY, Recipe, build_context, load_recipe
from sandbox.rootfs import build_root

LABEL_RECIPE = "assay.recipe"
LABEL_INVENTORY = "assay.inventory"
LABEL_FORM = "assay.form"
"""``dockerfile`` or ``packages``."""
LABEL_NU = "assay.nu"
LABEL_PROJECT = "assay.project"
"""On an image with a project's tools: the plain image of its time."""

PULL_S = 20.0
"""How long a registry may be silent before the base counts as out of reach."""


class ImageStore(Protocol):
    """The part of an engine that image building needs. ``sandbox.image_store`` has the real one."""

    def image_labels(self, ref: str) -> Mapping[str, str] | None:
        """The labels of an image; None where there is no such image."""
        ...

    def image_id(self, ref: str) -> str:
        """The id of an image: the digest of its content. Raises SandboxError(IMAGE_MISSING)."""
        ...

    def pull(self, ref: str, silence_s: float) -> None:
        """Pulls an image. Raises SandboxError(IMAGE_MISSING) where it cannot."""
        ...

    def build(self, context: Path, ref: str, say: Say, network: str | None = None) -> None:
        """Builds an image from a tar with a Dockerfile. Raises SandboxError (DISK, or IMAGE_BROKEN with the last lines).

        Args:
            network: of its steps; None = the engine's default.
        """
        ...

    def import_root(self, tar: Path, ref: str, changes: Sequence[str]) -> None:
        """Makes an image of a root file system. ``changes`` are Dockerfile instructions. Raises SandboxError."""
        ...

    def label(self, ref: str, labels: Mapping[str, str], new_ref: str) -> None:
        """Names an image anew with more labels."""
        ...

    def untag(self, ref: str) -> None:
        """Takes a name away from an image; does nothing where there is none."""
        ...

    def run_script(self, ref: str, script: str) -> bytes:
        """What a shell script prints in a fresh container without network. Raises SandboxError(IMAGE_BROKEN) where it fails."""
        ...


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be built, and the program that goes in besides the packages."""

    recipe: Recipe
    nu: Path | None


def ensure_image(say: Say, more: Sequence[str] = (), rebuild: bool = False, *, host: str | None = None) -> str:
    """The tag of the sandbox image, built first where the engine does not have it.

    Args:
        say: told about progress, a sentence at a time.
        more: packages besides the recipe's own.
        rebuild: build even where the image is there.
        host: the engine's address; None = as the environment says.

    Raises:
        SandboxError: no engine answers, or neither form can be built; the message has both reasons.
        ValueError: a package name that is none.
    """
    from sandbox.image_store import open_images

    recipe = load_recipe(more=more)
    with open_images(host) as store:
        return ensure_in(store, recipe, say, rebuild=rebuild)


def ensure_in(store: ImageStore, recipe: Recipe, say: Say, *, rebuild: bool = False) -> str:
    """As ``ensure_image``, in a given store."""
    if not rebuild and store.image_labels(recipe.tag) is not None:
        return recipe.tag
    with build_lock(recipe, say):
        if not rebuild and store.image_labels(recipe.tag) is not None:
            return recipe.tag
        with make_plan(recipe, say) as plan:
            if not rebuild and plan.nu is None and store.image_labels(plan.recipe.tag) is not None:
                return plan.recipe.tag
            say(f"building the sandbox image {plan.recipe.tag}")
            return build(store, plan, say)


def current_tag(store: ImageStore, more: Sequence[str] = ()) -> str | None:
    """The tag of the image that is there for this recipe, with or without Nushell; None where neither is. Builds nothing."""
    recipe = load_recipe(more=more)
    for wanted in (recipe, recipe.without_nu()):
        if store.image_labels(wanted.tag) is not None:
            return wanted.tag
    return None


@contextlib.contextmanager
def make_plan(recipe: Recipe, say: Say) -> Iterator[Plan]:
    """The recipe as it can be built here: without Nushell where its binary cannot be had."""
    if recipe.nu is None:
        yield Plan(recipe, None)
        return
    with fetched_nu(recipe.nu, say) as nu:
        yield Plan(recipe if nu is not None else recipe.without_nu(), nu)


@contextlib.contextmanager
def build_lock(recipe: Recipe, say: Say, directory: Path | None = None) -> Iterator[None]:
    """Lets one process of this user build this recipe at a time. The lock dies with its process."""
    root = platformdirs.user_state_path("assay") if directory is None else directory
    root.mkdir(parents=True, exist_ok=True)
    with (root / f"image-{recipe.digest[:24]}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another process is building the sandbox image; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(store: ImageStore, plan: Plan, say: Say) -> str:
    """Builds, takes the inventory, and names the image last, so that a name always means a finished image."""
    scratch_ref = f"{REPOSITORY}:wip-{plan.recipe.digest[:12]}-{os.getpid()}"
    try:
        form = build_either_form(store, plan, scratch_ref, say)
        say("taking the inventory")
        fingerprint = take_inventory(store, scratch_ref, plan.recipe)
        labels = {
            LABEL_RECIPE: plan.recipe.digest,
            LABEL_INVENTORY: fingerprint,
            LABEL_FORM: form,
            LABEL_NU: "no" if plan.nu is None else "yes",
        }
        store.label(scratch_ref, labels, plan.recipe.tag)
    finally:
        store.untag(scratch_ref)
    say(f"the sandbox image is ready: {plan.recipe.tag} (inventory {fingerprint[:12]})")
    return plan.recipe.tag


def build_either_form(store: ImageStore, plan: Plan, ref: str, say: Say) -> str:
    """Builds from the Dockerfile where its base can be had, else from packages. Returns which form it was."""
    try:
        build_from_dockerfile(store, plan, ref, say)
    except SandboxError as error:
        if error.cause in (Cause.DISK, Cause.ENGINE_LOST):
            raise
        say(f"not from the Dockerfile: {error.what}")
        first = error.what
    else:
        return "dockerfile"
    try:
        build_from_packages(store, plan, ref, say)
    except SandboxError as error:
        raise SandboxError(error.cause, f"{error.what} (nor from the Dockerfile: {first})", error.advice) from error
    return "packages"


def build_from_dockerfile(store: ImageStore, plan: Plan, ref: str, say: Say) -> None:
    """The form for machines with an image registry in reach."""
    if store.image_labels(plan.recipe.base) is None:
        say(f"pulling {plan.recipe.base}")
        store.pull(plan.recipe.base, PULL_S)
    with scratch_file() as context:
        with context.open("w+b") as stream:
            build_context(plan.recipe, plan.nu, stream)
        store.build(context, ref, say)


def build_from_packages(store: ImageStore, plan: Plan, ref: str, say: Say) -> None:
    """The form for machines that reach a package archive only."""
    say("building from the distribution's packages with mmdebstrap (a minute or two)")
    with scratch_file() as tar:
        build_root(plan.recipe, plan.nu, tar, say)
        say(f"importing {tar.stat().st_size >> 20} MB into the engine")
        store.import_root(tar, ref, ["ENV LANG=C.UTF-8", "ENV TZ=UTC", 'CMD ["bash"]'])


@contextlib.contextmanager
def scratch_file() -> Iterator[Path]:
    """A path in a temporary directory of its own."""
    with tempfile.TemporaryDirectory(prefix="assay-image-") as directory:
        yield Path(directory) / "image.tar"


_EVERY_FILE = r"""
find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /etc/hosts -o -path /etc/hostname -o -path /etc/resolv.conf \) \
    -prune -o -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum
find / -xdev \( -path /proc -o -path /sys -o -path /dev \) -prune -o -type l -printf '%p %l\n' | sort | sha256sum
"""


def take_inventory(store: ImageStore, ref: str, recipe: Recipe | None = None, *, whole: bool = False) -> str:
    """Fingerprint (SHA-256, hex) of what is really installed: packages with versions, digests of the key programs, locales.

    Args:
        whole: and of every file, for images that hold more than a distribution's packages.
    """
    found = inventory_text(store, ref, recipe)
    return hashlib.sha256(found + (store.run_script(ref, _EVERY_FILE) if whole else b"")).hexdigest()


def inventory_text(store: ImageStore, ref: str, recipe: Recipe | None = None) -> bytes:
    """What is really installed in an image, a fact a line, as ``inventory.sh`` finds it."""
    return store.run_script(ref, (load_recipe() if recipe is None else recipe).text("inventory.sh"))


def current_image(store: ImageStore, name: str | None = None, more: Sequence[str] = ()) -> tuple[str, str]:
    """Name and id of the image that runs would use. Raises SandboxError where it is not there."""
    tag = name or current_tag(store, more)
    if tag is None:
        raise SandboxError(Cause.IMAGE_MISSING, "the sandbox image has not been built here", "Run `assay engine image`")
    return tag, store.image_id(tag)


def measured_inventory(store: ImageStore, ref: str, identity: str, cache: Path | None = None) -> str:
    """The fingerprint of what an image holds: measured, and remembered by the image's id, which is the digest of its content.

    Args:
        identity: the id of the image that ``ref`` names.
        cache: where it is remembered; None = the user's cache directory.

    Raises:
        SandboxError: there is no such image, or it says something else of itself than what it holds.
    """
    labels = store.image_labels(ref)
    if labels is None:
        raise SandboxError(Cause.IMAGE_MISSING, f"the engine has no image {ref}", "Run: assay engine image")
    told = labels.get(LABEL_INVENTORY, "")
    kept = _kept(identity, cache)
    found = _remembered(kept) or _measured(store, ref, identity, told, whole=LABEL_PROJECT in labels)
    if told and told != found:
        what = f"the image {ref} says that it holds {told[:16]}, and holds {found[:16]}"
        raise SandboxError(Cause.IMAGE_BROKEN, what, "Somebody changed it: run `assay engine image --rebuild`")
    remember_inventory(identity, found, cache)
    return found


def remember_inventory(identity: str, found: str, cache: Path | None = None) -> None:
    """Keeps what was measured of an image."""
    kept = _kept(identity, cache)
    with contextlib.suppress(OSError):  # it is measured anew the next time
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(found, encoding="ascii")


def _kept(identity: str, cache: Path | None) -> Path:
    root = platformdirs.user_cache_path("assay") if cache is None else cache
    return root / "inventory" / identity.removeprefix("sha256:")


def _remembered(kept: Path) -> str:
    try:
        text = kept.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""
    return text if re.fullmatch(r"[0-9a-f]{64}", text) else ""


def _measured(store: ImageStore, ref: str, identity: str, told: str, *, whole: bool) -> str:
    """Of an image of somebody else's that cannot be looked into (no shell, no dpkg), its id stands for what it holds."""
    try:
        return take_inventory(store, ref, whole=whole)
    except SandboxError as error:
        if told or error.cause is not Cause.IMAGE_BROKEN:
            raise
        return hashlib.sha256(identity.encode()).hexdigest()
