"""Private functions that a skill made from states may carry, as text."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping

from synth.embedded.states import texts

_NEEDS: Mapping[Callable[..., object], tuple[str, ...]] = {
    texts._read: (), texts._listed: (), texts._there: (), texts._names: (), texts._rewrite: (), texts._rewrite_each: (), texts._insert: (),
    texts._insert_sorted: (), texts._version: (), texts._named: (), texts._sibling: ("_version",), texts._renamed: (),
    texts._create: (), texts._bumped: (), texts._plain: (), texts._slug: (),
}  # fmt: skip

TEXTS: Mapping[str, tuple[str, tuple[str, ...]]] = {f.__name__: (inspect.getsource(f), needs) for f, needs in _NEEDS.items()}
"""Name -> its source, and the functions that it calls."""
