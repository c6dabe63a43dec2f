"""JSON under the names of `polygraphy.json`, with classes that a program registers."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from polycmp import json as ours
from polycmp.errors import DataError
from polycmp.json import save_json as save_json
from polycmp.json import to_json as to_json
from polycmp.results import LazyArray
from polycmp_polygraphy.constants import TYPE_MARKER

Function = Callable[[Any], Any]
T = TypeVar("T")


def _tensor_info(members: Mapping[str, Any]) -> Any:
    from polycmp_trt import TensorInfo

    return TensorInfo(**members)


def _algorithm(members: Mapping[str, Any]) -> Any:
    from polycmp_trt import Algorithm

    return Algorithm(**members)


def _tactic_replay_data(members: Mapping[str, Any]) -> Any:
    from polycmp_trt import TacticReplayData

    return TacticReplayData(members["replay"])


#: What makes objects of further classes, those that this process registers too, by the mark of the class.
_REGISTERED: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "TensorInfo": _tensor_info,
    "Algorithm": _algorithm,
    "TacticReplayData": _tactic_replay_data,
}


class Encoder:
    """Registry of functions that write objects of a program's own classes as JSON."""

    @staticmethod
    def register(typ: type, alias: str | None = None) -> Callable[[Function], Function]:
        """Return a decorator for the function that returns the members of an object of a class.

        Args:
            typ: The class, which is given the method `to_json_object`.
            alias: Of no effect.
        """
        del alias

        def decorate(members_of: Function) -> Function:
            def encode(self: Any) -> dict[str, Any]:
                return {**members_of(self), TYPE_MARKER: typ.__name__}

            setattr(typ, "to_json_object", encode)  # noqa: B010 - a type checker refuses the assignment
            return encode

        return decorate


class Decoder:
    """Registry of functions that read objects of a program's own classes from JSON."""

    @staticmethod
    def register(typ: type, alias: str | None = None) -> Callable[[Function], Function]:
        """Return a decorator for the function that makes an object of a class out of its members.

        Args:
            typ: The class.
            alias: Another mark of the class in files.
        """

        def decorate(make: Function) -> Function:
            _REGISTERED.update(dict.fromkeys([typ.__name__, *([alias] if alias else [])], make))
            return make

        return decorate


def from_json(src: str) -> Any:
    """Return the objects in a JSON text, those of registered classes included; an array of a result is a LazyArray."""
    value = ours.from_json(src, _REGISTERED)
    if isinstance(value, np.ndarray) and json.loads(src).get(TYPE_MARKER) == LazyArray.__name__:
        return LazyArray(value)
    return value


def load_json(src: Any, description: str | None = None) -> Any:
    """Return the objects in a JSON file, those of registered classes included.

    Raises:
        FileNotFoundError: There is no such file.
    """
    if isinstance(src, str | Path) and not Path(src).exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(src))
    return ours.load_json(src, description, _REGISTERED)


def add_json_methods(description: str | None = None) -> Callable[[type[T]], type[T]]:
    """Return a decorator that gives a class `to_json`, `from_json`, `save` and `load`.

    Args:
        description: Name of the content, for errors.
    """

    def checked(cls: type[T], value: Any) -> Any:
        if not isinstance(value, cls):
            raise DataError(f"the JSON holds {type(value).__name__} instead of {cls.__name__}")
        return value

    def decorate(cls: type[T]) -> type[T]:
        added: dict[str, Any] = {
            "to_json": to_json,
            "save": lambda self, dest: save_json(self, dest, description),
            "from_json": classmethod(lambda own, src: checked(own, from_json(src))),
            "load": classmethod(lambda own, src: checked(own, load_json(src, description))),
        }
        for name, method in added.items():
            setattr(cls, name, method)
        return cls

    return decorate
