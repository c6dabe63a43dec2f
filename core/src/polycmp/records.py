"""A `dataclass` for the hundred classes that every command imports: the standard library's, without its compiling.

The standard library compiles up to six functions for each class, half a millisecond in Python 3.11, a fifth of the time
in which a small model is compared. The functions here are the same for all classes and look at the fields instead.
Fields, `replace`, `asdict`, matching and what type checkers see are those of the standard library.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, NamedTuple


class _Fields(NamedTuple):  # what the methods of a class need to know
    names: tuple[str, ...]
    known: frozenset[str]
    checked: bool
    defaults: Mapping[str, Any]
    factories: Mapping[str, Callable[[], Any]]
    shown: tuple[str, ...]
    compared: Callable[[Any], Any]
    hashed: Callable[[Any], Any]


def dataclass(cls: Any = None, /, *, repr: bool = True, eq: bool = True, frozen: bool = False, **further: Any) -> Any:
    """Make a class a dataclass, as `dataclasses.dataclass` does, with the same arguments.

    A class that is derived from a dataclass, or asks for anything further, is made by the standard library.
    """

    def make(cls: Any) -> Any:
        if further or any(map(dataclasses.is_dataclass, cls.__mro__[1:])):
            return dataclasses.dataclass(repr=repr, eq=eq, frozen=frozen, **further)(cls)
        cls.__doc__ = cls.__doc__ or cls.__name__  # else the standard library would write down the signature
        made = dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
        made.__dataclass_params__.frozen = frozen  # classes derived from this one are asked to agree
        methods = {"__init__": _init, "__fields__": _fields_of(made)}
        methods |= {"__repr__": _repr} if repr else {}
        methods |= {"__eq__": _eq, "__hash__": _hash if frozen else None} if eq else {}
        methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete} if frozen else {}
        for name in methods.keys() - vars(cls).keys():
            setattr(made, name, methods[name])
        return made

    return make if cls is None else make(cls)


def _fields_of(cls: Any) -> _Fields:
    fields, none = dataclasses.fields(cls), dataclasses.MISSING
    names = tuple(item.name for item in fields)
    return _Fields(
        names,
        frozenset(names),
        hasattr(cls, "__post_init__"),
        {item.name: item.default for item in fields if item.default is not none},
        {item.name: item.default_factory for item in fields if item.default_factory is not none},
        tuple(item.name for item in fields if item.repr),
        _values_of(item.name for item in fields if item.compare),
        _values_of(item.name for item in fields if (item.compare if item.hash is None else item.hash)),
    )


def _values_of(names: Iterable[str]) -> Callable[[Any], Any]:
    return attrgetter("__class__", *names)  # the class, since one name alone would give no tuple, and none nothing


def _init(self: Any, /, *args: Any, **named: Any) -> None:
    fields: _Fields = self.__fields__
    values = vars(self)
    if args and len(args) == len(fields.names) and not named:
        values.update(zip(fields.names, args, strict=True))
    else:
        given = {**dict(zip(fields.names, args)), **named} if args else named  # noqa: B905  (checked below)
        values.update(fields.defaults)
        values.update(given)
        for name, make in fields.factories.items():
            if name not in given:
                values[name] = make()
        if len(values) != len(fields.names) or len(given) != len(args) + len(named) or given.keys() - fields.known:
            raise TypeError(f"{type(self).__name__}({', '.join(fields.names)}) cannot be made of {args} and {[*named]}")
    if fields.checked:
        self.__post_init__()


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name in self.__fields__.shown)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _eq(self: Any, other: Any) -> bool:
    if type(other) is not type(self):
        return NotImplemented
    values = self.__fields__.compared
    return bool(values(self) == values(other))


def _hash(self: Any) -> int:
    return hash(self.__fields__.hashed(self))


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    if name in self.__fields__.names or "__fields__" in vars(type(self)):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)  # a class derived from this one has attributes of its own


def _refuse_to_delete(_self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
