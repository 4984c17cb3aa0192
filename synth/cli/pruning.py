"""What ``assay engine prune`` removes: images of earlier recipes, and old files of the caches."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

import platformdirs

from synth.cli.room import size_of, stale

DAY_S = 86_400
MIB = 1 << 20
CACHES = ("assay", "skill-assay")
"""Directories below the user's cache directory that are ours."""


def images(host: str | None, wanted: str | None, packages: Sequence[str], dry_run: bool) -> Iterator[str]:
    """Removes our images but the wanted ones; one line each.

    Raises:
        SandboxError: no engine answers.
    """
    from sandbox.image import LABEL_PROJECT, LABEL_RECIPE
    from sandbox.image_store import open_images
    from sandbox.interface import SandboxError
    from sandbox.recipe import load_recipe

    recipes = load_recipe(), load_recipe(more=list(packages))
    kept = {wanted, *(tag for r in recipes for tag in (r.tag, r.without_nu().tag))}
    with open_images(host) as store:
        for tag, size in sorted(store.labelled(LABEL_RECIPE).items()):
            shown = f"image {tag} ({size / MIB:.0f} MiB)"
            if tag in kept or (store.image_labels(tag) or {}).get(LABEL_PROJECT, "") in kept:
                yield f"kept     {shown}"
            elif dry_run:
                yield f"would go {shown}"
            else:
                try:
                    store.untag(tag)
                    yield f"removed  {shown}"
                except SandboxError as e:
                    yield f"kept     {shown}: {e.what}"


def caches(days: int, dry_run: bool) -> Iterator[str]:
    """Removes old files of our caches; one line for each directory."""
    for name in CACHES:
        place = platformdirs.user_cache_path(name)
        old = stale(place, time.time() - days * DAY_S)
        freed = sum(p.lstat().st_size for p in old)
        for path in () if dry_run else old:
            with suppress(OSError):
                path.unlink()
        said = f"{len(old)} old files {'would go' if dry_run else 'removed'} ({freed / MIB:.1f} MiB)" if old else "nothing old"
        yield f"cache    {place}: {said}, {size_of(place) / MIB:.1f} MiB there"
