"""Collections that hold one type each, under the names of `polygraphy.common.interface`."""

from __future__ import annotations

from collections import UserDict, UserList
from collections.abc import Callable, Iterable
from typing import Any

from polycmp.errors import DataError


def _check(value: object, kind: type, what: str) -> None:
    if not isinstance(value, kind):
        raise DataError(f"Unsupported {what} type: {type(value).__name__} instead of {kind.__name__}")


def TypedDict(key_type_func: Callable[[], type], value_type_func: Callable[[], type]) -> type:  # noqa: N802
    """Return a class of mappings that refuse keys and values of other types.

    Args:
        key_type_func: Gives the type of the keys.
        value_type_func: Gives the type of the values.
    """

    class Interface(UserDict[Any, Any]):
        def __init__(self, dct: Any = None) -> None:
            self.key_type, self.value_type = key_type_func(), value_type_func()
            super().__init__()
            self.data = dict(dct or {})

        @property
        def dct(self) -> dict[Any, Any]:
            return self.data

        def __setitem__(self, key: Any, item: Any) -> None:
            _check(key, self.key_type, "key")
            _check(item, self.value_type, "value")
            self.data[key] = item

    return Interface


def TypedList(elem_type_func: Callable[[], type]) -> type:  # noqa: N802
    """Return a class of lists that refuse elements of other types.

    Args:
        elem_type_func: Gives the type of the elements.
    """

    class Interface(UserList[Any]):
        def __init__(self, lst: Any = None) -> None:
            self.elem_type = elem_type_func()
            super().__init__()
            self.data = list(lst or ())

        @property
        def lst(self) -> list[Any]:
            return self.data

        def __setitem__(self, index: Any, item: Any) -> None:
            _check(item, self.elem_type, "element")
            self.data[index] = item

        def append(self, item: Any) -> None:
            _check(item, self.elem_type, "element")
            super().append(item)

        def extend(self, other: Iterable[Any]) -> None:
            given = list(other)
            for item in given:
                _check(item, self.elem_type, "element")
            super().extend(given)

        def __iadd__(self, other: Iterable[Any]) -> Any:
            self.extend(other)
            return self

    return Interface
