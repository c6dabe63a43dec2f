"""A `dataclass` for modules that every command imports: the standard library's, made in a sixth of the time.

The decorator of the standard library compiles up to six functions for each class, a third of a millisecond in Python
3.11. The hundred classes that a comparison imports took an eighth of the time of comparing a small model. Here only
`__init__` is compiled, by the standard library; the other methods look at the fields when they are called, and do the
same. For everything else, such as `dataclasses.replace`, the classes are dataclasses like any other. Making an object
of them takes a little longer, so those that a comparison makes for each output are made by the standard library.
"""

from __future__ import annotations

import dataclasses
from dataclasses import asdict, field, fields, is_dataclass, replace
from reprlib import recursive_repr
from typing import Any

__all__ = ["asdict", "dataclass", "field", "fields", "is_dataclass", "replace"]


def dataclass(
    cls: Any = None, /, *, init: bool = True, repr: bool = True, eq: bool = True, frozen: bool = False, **further: Any
) -> Any:
    """Make a class a dataclass, as `dataclasses.dataclass` does; this is it where a base class or `further` asks.

    Args:
        cls: The class; None where the decorator is called with arguments.
        init: Whether to make `__init__`.
        repr: Whether to make `__repr__`.
        eq: Whether to make `__eq__`, and `__hash__` if frozen.
        frozen: Whether fields keep the value that they get first.
        further: Any other argument of `dataclasses.dataclass`.
    """

    def make(cls: Any) -> Any:
        if further or any(base.__dataclass_params__.frozen for base in cls.__mro__[1:] if is_dataclass(base)):
            return dataclasses.dataclass(init=init, repr=repr, eq=eq, frozen=frozen, **further)(cls)
        made = dataclasses.dataclass(init=init, repr=False, eq=False)(cls)
        for name, method in _methods(repr, eq, frozen).items():
            if name not in cls.__dict__:
                setattr(made, name, method)
        # The standard library's decorator asks this of the bases of classes that are derived from this one.
        made.__dataclass_params__.frozen = frozen
        return made

    return make if cls is None else make(cls)


def _methods(with_repr: bool, eq: bool, frozen: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if with_repr:
        found["__repr__"] = _repr
    if eq:
        found |= {"__eq__": _eq, "__hash__": _hash if frozen else None}
    if frozen:
        found |= {"__setattr__": _set_once, "__delattr__": _set_once}
    return found


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{item.name}={getattr(self, item.name)!r}" for item in fields(self) if item.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _eq(self: Any, other: Any) -> bool:
    if type(other) is not type(self):
        return NotImplemented
    names = [item.name for item in fields(self) if item.compare]
    return [getattr(self, name) for name in names] == [getattr(other, name) for name in names]


def _hash(self: Any) -> int:
    hashed = (item for item in fields(self) if (item.compare if item.hash is None else item.hash))
    return hash(tuple(getattr(self, item.name) for item in hashed))


def _set_once(self: Any, name: str, *value: Any) -> None:
    """Give a field its first value; without one, delete it, which is refused like any further value."""
    if not value or name in vars(self) or name not in self.__dataclass_fields__:
        raise dataclasses.FrozenInstanceError(f"cannot change field {name!r}")
    object.__setattr__(self, name, *value)
