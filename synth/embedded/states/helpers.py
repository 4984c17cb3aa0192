"""Private functions that a skill made from states may carry, as text."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence

from synth.embedded.states import texts

_ALL: Sequence[Callable[..., object]] = (
    texts._read, texts._listed, texts._there, texts._names, texts._rewrite, texts._rewrite_once, texts._rewrite_each,
    texts._insert, texts._insert_sorted, texts._version, texts._named, texts._sibling, texts._renamed, texts._create,
    texts._straight, texts._always, texts._bumped, texts._plain, texts._slug,
)  # fmt: skip
_NEEDS: Mapping[str, tuple[str, ...]] = {"_sibling": ("_version",), "_create": ("_straight",)}

TEXTS: Mapping[str, tuple[str, tuple[str, ...]]] = {f.__name__: (inspect.getsource(f), _NEEDS.get(f.__name__, ())) for f in _ALL}
"""Name -> its source, and the functions that it calls."""
