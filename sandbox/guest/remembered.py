"""What a module holds between two calls: its variables, and all that can be reached from them and changed. Guest side.

What a later call of the same process finds is compared before and after one. No method of the skill's own classes is asked: what
an object refers to, the interpreter says.
"""

from __future__ import annotations

import builtins
import logging
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sized
from contextvars import ContextVar
from enum import Flag
from functools import lru_cache, partial
from gc import get_referents
from types import GetSetDescriptorType
from typing import Any

MOST = 100_000
"""Objects that are looked at. Who holds more holds what nobody can compare."""
PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented)})
SPEED = ("pathlib",)
"""Of the library, what keeps notes of what it worked out, and gives the same without them."""
FIXED = 1 << 8
"""Flag of classes that Python code neither made nor can change."""
OF_CLASSES = {"__dict__": GetSetDescriptorType, "__weakref__": GetSetDescriptorType, "_abc_impl": type(vars(Sized)["_abc_impl"])}
"""What Python puts into a class, and of which type it is."""
OF_FLAGS = frozenset({"_value2member_map_", "_member_map_"})
"""Members that a class of flags makes when they are used."""
ASKED_FOR = "__annotations__"
"""Made, and empty, when somebody asks for it."""
WARNED = "__warningregistry__"
"""Where Python notes which warnings were shown; a skill may not name it."""
REFERRING = frozenset({dict, list, tuple, set, frozenset})
"""What is all that it refers to."""
COPIED = (("__reduce__", ()), ("__getstate__", ()), ("__reduce_ex__", (4,)))
"""How a built-in class says what a copy of an object would be made of, whatever classes made of it say."""
NOTES = frozenset({"_cache", "manager", "parent", "root"})
"""What the library notes in a logger, or ties it to."""
_CACHE = type(lru_cache(int))


class Picture:
    """What the variables of one module are, as data that can be compared.

    Whatever it has met is held as long as it lives, so that no other object gets its identity.
    """

    def __init__(self, module: types.ModuleType) -> None:
        self._space = vars(module)
        self._met: dict[int, int] = {}
        self._held: list[Any] = []
        own = {name: value for name, value in self._space.items() if not _pythons(name, value)}
        self.variables = {name: list(self._seen(value)) for name, value in own.items()}

    def changed(self, later: Picture) -> list[str]:
        """The names of variables that are others now."""
        names = sorted({*self.variables, *later.variables}, key=str)
        found = [name for name in names if self.variables.get(name) != later.variables.get(name)]
        return found if len(later._met) < MOST else [*found, "more than can be compared"]

    def _seen(self, value: Any) -> Iterator[Any]:
        waiting = [value]
        while waiting and len(self._met) < MOST:
            thing = waiting.pop()
            kind = type(thing)
            if kind in PLAIN:
                yield kind, repr(thing) if kind in (float, complex) else thing
            elif id(thing) in self._met:
                yield "again", self._met[id(thing)]
            else:
                self._met[id(thing)] = len(self._met)
                self._held.append(thing)
                parts = list(self._parts(thing, kind))
                yield kind, len(parts), *([] if parts else [id(thing)])
                waiting += reversed(parts)

    def _parts(self, thing: Any, kind: type) -> Iterable[Any]:
        """What an object is made of; nothing where only its identity says what it is."""
        if kind is types.FunctionType:
            return self._function(thing)
        if issubclass(kind, type):
            return [] if self._of_the_library(thing) else _class(thing)
        if kind is types.ModuleType or kind is types.CodeType or self._for_speed(kind):
            return []
        if kind is types.GeneratorType or kind is types.CoroutineType:
            frame = thing.gi_frame if kind is types.GeneratorType else thing.cr_frame
            return [] if frame is None else [frame.f_lasti, *frame.f_locals.values()]
        if kind is logging.Logger:
            return [part for name, value in sorted(thing.__dict__.items()) if name not in NOTES for part in (name, value)]
        if kind is ContextVar:
            return [_or_none(partial(thing.get, None))]
        if kind is _CACHE:
            return [thing.__wrapped__]
        return [part for part in (*get_referents(thing), *_opaque(thing, kind)) if part is not kind and part is not self._space]

    def _function(self, thing: types.FunctionType) -> list[Any]:
        """Of the module's own; of others their identity says enough."""
        if thing.__globals__ is not self._space:
            return []
        called = [
            thing.__name__,
            thing.__qualname__,
            thing.__module__,
            thing.__doc__,
            _or_none(partial(getattr, thing, ASKED_FOR)),
        ]
        return [id(thing.__code__), thing.__defaults__, thing.__kwdefaults__, thing.__dict__, thing.__closure__, *called]

    def _for_speed(self, kind: type) -> bool:
        return _home(kind).partition(".")[0] in SPEED and self._of_the_library(kind)

    def _of_the_library(self, kind: type) -> bool:
        """Whether a class is the one that another module has under its name: what it says of itself alone is not believed."""
        if kind.__flags__ & FIXED:
            return True
        found: Any = sys.modules.get(_home(kind))
        if found is None or vars(found) is self._space:
            return False
        for name in str(type.__dict__["__qualname__"].__get__(kind)).split("."):
            found = getattr(found, name, None)
        return found is kind


def _pythons(name: str, value: object) -> bool:
    """Whether a variable of a module is Python's own note. Its value is not asked what it is equal to."""
    if name == "__builtins__":
        return value is builtins or value is vars(builtins)
    return name == WARNED or _nobodys(name, value)


def _nobodys(name: str, value: object) -> bool:
    return name == ASKED_FOR and type(value) is dict and not value


def _class(thing: type) -> list[Any]:
    namespace = type.__dict__["__dict__"].__get__(thing)
    flags = Flag in type.__dict__["__mro__"].__get__(thing)
    made = [n for n, v in namespace.items() if type(v) is OF_CLASSES.get(n) or _nobodys(n, v) or (flags and n in OF_FLAGS)]
    return [part for name, value in list(namespace.items()) if name not in made for part in (name, value)]


def _opaque(thing: Any, kind: type) -> Iterator[Any]:
    """What an object of the interpreter's own holds in other ways than by referring to it: an iterator's place, bytes."""
    base: Any = next(b for b in type.__dict__["__mro__"].__get__(kind) if b.__flags__ & FIXED)
    own = type.__dict__["__dict__"].__get__(base)
    ways = [(name, given) for name, given in COPIED if name in own and base is not object and base not in REFERRING]
    if base in PLAIN:
        yield base.__repr__(thing)
    elif base is bytearray:
        yield bytes(thing)
    elif ways:
        yield from (_or_none(partial(own[name], thing, *given)) for name, given in ways)
    elif kind is base and base not in REFERRING:
        yield _or_none(partial(thing.__reduce_ex__, 4))


def _home(kind: type) -> str:
    return str(type.__dict__["__dict__"].__get__(kind).get("__module__"))


def _or_none(look: Callable[[], Any]) -> Any:
    try:
        return look()
    except Exception:  # noqa: BLE001 - what cannot be looked at remembers nothing that is seen
        return None
