"""Arrays by name, made of what programs hold and of what other programs saved: tensors, mappings, lists of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from polycmp.errors import DataError
from polycmp.tensors import to_numpy

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.generic]]

#: Name of an array that has none.
ALONE = "output"


def iterations_of(data: object) -> Iterator[dict[str, Array]]:
    """Yield the arrays of each iteration, by name; one that has no name is called `output`.

    Args:
        data: Outputs, several of them, or an array.

    Raises:
        DataError: Something is not an array.
    """
    if isinstance(data, Mapping):
        yield dict(_named(data))
    elif isinstance(data, Iterator) or (isinstance(data, list | tuple) and _are_iterations(data)):
        for item in data:
            yield dict(_named(item))
    else:
        yield dict(_named({ALONE: data}))


def _are_iterations(data: Sequence[object]) -> bool:
    return bool(data) and all(isinstance(item, Mapping) for item in data)


def _named(outputs: Mapping[str, object]) -> Iterator[tuple[str, Array]]:
    """Yield names and arrays; what is nested is named `name.0`, `name.1`, and None is left out.

    Raises:
        DataError: Something is not an array.
    """
    for name, value in outputs.items():
        if isinstance(value, Mapping):
            yield from _named({f"{name}.{key}": item for key, item in value.items()})
        elif isinstance(value, list | tuple) and any(map(_is_array_or_holds_some, value)):
            yield from _named({f"{name}.{index}": item for index, item in enumerate(value)})
        elif value is not None:
            yield str(name), _array(str(name), value)


def _is_array_or_holds_some(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_is_array_or_holds_some, value))
    return isinstance(value, Mapping) or (hasattr(value, "shape") and hasattr(value, "dtype"))


def _array(name: str, value: object) -> Array:
    try:
        array = to_numpy(value)
    except Exception as error:
        raise DataError(f"{name!r} cannot be read as an array", why=f"it is a {type(value).__name__}") from error
    if array.dtype == object and not all(isinstance(item, str | bytes) for item in array.flat):
        raise DataError(f"{name!r} holds no numbers", why=f"it is a {type(value).__name__}")
    return array
