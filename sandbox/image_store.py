"""The images of one engine, over its HTTP interface. Errors of the SDK are translated by ``sandbox.engine``."""

from __future__ import annotations

import contextlib
import io
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox import engine
from sandbox.daemon import Say
from sandbox.interface import Cause, SandboxError

BUILD_S = 1200.0
"""How long the engine may be silent while it builds or imports."""


class EngineImages:
    """``sandbox.image.ImageStore`` on a real engine."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def image_labels(self, ref: str) -> Mapping[str, str] | None:
        with engine.translated(f"looking for image {ref}"):
            found = engine.or_none(lambda: self._client.api.inspect_image(ref))
        return None if found is None else dict(found["Config"].get("Labels") or {})

    def image_id(self, ref: str) -> str:
        with engine.translated(f"looking for image {ref}"):
            return str(self._client.api.inspect_image(ref)["Id"])

    def pull(self, ref: str, silence_s: float) -> None:
        name, tag = name_and_tag(ref)
        try:
            with engine.translated(f"pulling {ref}"), engine.patience(self._client, silence_s):
                for event in self._client.api.pull(name, tag=tag, stream=True, decode=True):
                    if "error" in event:
                        raise SandboxError(Cause.IMAGE_MISSING, f"{ref} cannot be pulled: {_one_line(event['error'])}")
        except SandboxError as error:
            raise _as_missing(ref, error) from error

    def build(self, context: Path, ref: str, say: Say, network: str | None = None) -> None:
        with engine.translated("building the image"), engine.patience(self._client, BUILD_S), context.open("rb") as stream:
            self._build(stream, ref, say, network)

    def _build(self, stream: Any, ref: str, say: Say, network: str | None = None) -> None:
        last: list[str] = []
        events = self._client.api.build(
            fileobj=stream, custom_context=True, tag=ref, rm=True, forcerm=True, decode=True, network_mode=network
        )  # fmt: skip
        for event in events:
            line = str(event.get("stream", "")).strip()
            if line.startswith("Step "):
                say(f"engine: {line}")
            last = [*last[-4:], line] if line else last
            if "error" in event:
                what = f"the engine cannot build {ref}: {_one_line(event['error'])}"
                full = any("No space left on device" in text for text in [*last, event["error"]])
                raise SandboxError(Cause.DISK if full else Cause.IMAGE_BROKEN, what, " | ".join(last))

    def import_root(self, tar: Path, ref: str, changes: Sequence[str]) -> None:
        name, _, tag = ref.partition(":")
        with engine.translated("importing the image"), engine.patience(self._client, BUILD_S), tar.open("rb") as stream:
            answer = self._client.api.import_image(src=stream, repository=name, tag=tag, changes=list(changes))
        if '"error' in answer:
            full = "no space left on device" in answer
            raise SandboxError(
                Cause.DISK if full else Cause.IMAGE_BROKEN, f"the engine cannot import the image: {_one_line(answer)}"
            )

    def label(self, ref: str, labels: Mapping[str, str], new_ref: str) -> None:
        lines = [f"FROM {ref}", *(f'LABEL {key}="{value}"' for key, value in labels.items())]
        with engine.translated("labelling the image"), engine.patience(self._client, BUILD_S):
            self._build(_context_of("\n".join(lines) + "\n"), new_ref, lambda _: None)

    def untag(self, ref: str) -> None:
        with engine.translated(f"removing image {ref}"):
            engine.or_none(lambda: self._client.api.remove_image(ref, noprune=False))

    def labelled(self, label: str) -> dict[str, int]:
        """Tags of the images that have a label, each with its size in bytes (what images share counts for each)."""
        with engine.translated("listing images"):
            found = self._client.api.images(filters={"label": label})
        return {tag: int(image["Size"]) for image in found for tag in image.get("RepoTags") or () if tag != "<none>:<none>"}

    def run_script(self, ref: str, script: str) -> bytes:
        return engine.run_script(self._client, ref, script)


@contextlib.contextmanager
def open_images(host: str | None = None) -> Iterator[EngineImages]:
    """The images of the engine at ``host`` (None = as the environment says). Raises SandboxError where none answers."""
    connected = engine.Engine(host)
    try:
        yield EngineImages(connected.client)
    finally:
        connected.close()


def name_and_tag(ref: str) -> tuple[str, str]:
    """A reference in the two parts in which an engine wants it; a digest is a tag too."""
    if "@" in ref:
        name, _, digest = ref.partition("@")
        return name, digest
    name, colon, tag = ref.rpartition(":")
    return (name, tag) if colon and "/" not in tag else (ref, "latest")


def _context_of(dockerfile: str) -> io.BytesIO:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        info = tarfile.TarInfo("Dockerfile")
        info.size = len(dockerfile.encode())
        tar.addfile(info, io.BytesIO(dockerfile.encode()))
    out.seek(0)
    return out


def _one_line(text: str) -> str:
    return " ".join(str(text).split())[:300]


_OUT_OF_REACH = ("no such host", "name resolution", "unreachable", "i/o timeout", "connection refused", "proxyconnect")
"""How engines say that they cannot get to a registry."""


def _as_missing(ref: str, error: SandboxError) -> SandboxError:
    """A registry's silence or refusal is about the image, not about the engine."""
    if error.cause is Cause.IMAGE_MISSING or error.cause is Cause.DISK:
        return error
    if any(sign in error.what for sign in _OUT_OF_REACH) or error.cause is Cause.DEADLINE:
        return SandboxError(Cause.IMAGE_MISSING, f"{ref} cannot be pulled: no image registry is in reach")
    return SandboxError(Cause.IMAGE_MISSING, f"{ref} cannot be pulled: {error.what}")
