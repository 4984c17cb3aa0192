"""What a module holds between two calls: its variables, and all that can be reached from them and changed. Guest side.

What is remembered by a later call of the same process is compared before and after one. No method of the skill's own classes is
asked: an object says what the interpreter knows of it.
"""

from __future__ import annotations

import sys
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import partial
from itertools import chain
from typing import Any

DEEPEST = 12
MOST = 20_000
"""Objects that are looked at: beyond, a module holds data and no memory."""
PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice, type(Ellipsis), types.CodeType)
SPEED = ("logging", "pathlib")
"""Of the library, what keeps notes of what it worked out, and gives the same without them."""
_FIXED = 1 << 8
"""Flag of classes that Python code neither made nor can change."""


class Picture:
    """What the variables of one module are, as data that can be compared.

    Whatever it has met is held until the other picture is taken, so that no other object gets its identity.
    """

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module.__name__
        self._met: dict[int, int] = {}
        self._held: list[Any] = []
        self._left = MOST
        named = {n: v for n, v in list(vars(module).items()) if n not in ("__builtins__", "__annotations__")}
        self.variables = {name: self._of(value, DEEPEST) for name, value in named.items()}

    def changed(self, later: Picture) -> list[str]:
        """The names of variables that are others now."""
        names = sorted({*self.variables, *later.variables})
        return [name for name in names if self.variables.get(name) != later.variables.get(name)]

    def _of(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind in PLAIN:
            return (kind.__name__, repr(value) if kind is float else value if kind in (int, str, bytes, bool) else "")
        if id(value) in self._met:
            return ("again", self._met[id(value)])
        self._left -= 1
        if depth == 0 or self._left < 0 or kind is types.ModuleType:
            return kind.__name__
        self._met[id(value)] = len(self._met)
        self._held.append(value)
        return (kind.__name__, [self._of(part, depth - 1) for part in self._parts(value, kind)])

    def _parts(self, value: Any, kind: type) -> Iterator[Any]:
        """What an object is made of."""
        if isinstance(value, types.FunctionType):
            yield from self._function(value)
        elif isinstance(value, type):
            if type.__getattribute__(value, "__module__") == self._module:
                yield from (part for pair in _own(type.__dict__["__dict__"].__get__(value)) for part in pair)
        elif isinstance(value, types.GeneratorType | types.CoroutineType):
            frame = value.gi_frame if isinstance(value, types.GeneratorType) else value.cr_frame
            yield (frame.f_lasti, dict(frame.f_locals)) if frame is not None else None
        elif isinstance(value, types.BuiltinFunctionType | types.MethodType):
            yield (value.__name__, value.__self__)
        elif isinstance(value, ContextVar):
            yield value.get(None)
        elif not _for_speed(kind):
            yield from _object(value, kind)

    def _function(self, value: types.FunctionType) -> Iterator[Any]:
        if value.__module__ == self._module or value.__globals__.get("__name__") == self._module:
            yield (value.__defaults__, value.__kwdefaults__, dict(value.__dict__))
            for cell in value.__closure__ or ():
                yield _or_none(partial(getattr, cell, "cell_contents"))


def _own(namespace: types.MappingProxyType[str, Any]) -> Iterator[tuple[str, Any]]:
    """What a class says of itself, but for what Python puts there and for members that a class of flags makes when used."""
    made = ("__dict__", "__weakref__", "__annotations__", "__doc__", "_value2member_map_", "_member_map_")
    return ((name, value) for name, value in list(namespace.items()) if name not in made and not name.startswith("_abc_"))


def _for_speed(kind: type) -> bool:
    where = str(_or_none(lambda: type.__getattribute__(kind, "__module__")))
    name = type.__dict__["__qualname__"].__get__(kind)
    return where.partition(".")[0] in SPEED and getattr(sys.modules.get(where), name, None) is kind


def _object(value: Any, kind: type) -> Iterator[Any]:
    """Attributes, slots and members of an object. Of a class that Python code made no method is asked, but those of the built-in
    class that it is built on."""
    bases = type.__dict__["__mro__"].__get__(kind)
    built_in = next(base for base in bases if base.__flags__ & _FIXED)
    yield dict(_or_none(lambda: built_in.__getattribute__(value, "__dict__")) or {})
    for base in bases[: bases.index(built_in)]:
        for name, slot in list(type.__dict__["__dict__"].__get__(base).items()):
            if isinstance(slot, types.MemberDescriptorType):
                yield (name, _or_none(partial(slot.__get__, value)))
    if built_in is dict or built_in is OrderedDict:
        yield from chain.from_iterable(list(dict.items(value)))
    elif built_in in (set, frozenset):
        yield sorted(map(repr, built_in.__iter__(value)))
    elif built_in is bytearray:
        yield bytes(value)
    elif hasattr(built_in, "__iter__") and hasattr(built_in, "__len__"):
        yield from _or_none(lambda: list(built_in.__iter__(value))) or ()
    elif built_in is kind:
        yield _or_none(lambda: value.__reduce_ex__(4))  # how a copy of it would be made: that says where an iterator is


def _or_none(look: Callable[[], Any]) -> Any:
    try:
        return look()
    except Exception:  # noqa: BLE001 - what cannot be looked at remembers nothing that is seen
        return None
