"""Arrays by name, made of what programs hold and of what other programs saved: tensors, mappings, lists of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from polycmp._arrays import columns, flattened
from polycmp.errors import DataError
from polycmp.tensors import to_numpy

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.generic]]

#: Name of an array that has none.
ALONE = "output"


def iterations_of(data: object, *, masks: bool = True) -> Iterator[dict[str, Array]]:
    """Yield the arrays of each iteration, by name; one that has no name is called `output`.

    Args:
        data: Outputs, several of them, a table, or an array.
        masks: Whether the mask of a masked array is an array of its own, called `name.mask`; else it is refused.

    Raises:
        DataError: Something is not an array.
    """
    if isinstance(data, Mapping):
        yield _named(data, masks=masks)
    elif hasattr(data, "__dataframe__"):
        yield _named(columns(data), masks=masks)
    elif isinstance(data, Iterator):
        for item in data:
            yield _named(_arrays_of(item), masks=masks)
    elif isinstance(data, list | tuple) and _are_iterations(data):
        for item in data:
            yield _named(item, masks=masks)
    else:
        yield _named({ALONE: data}, masks=masks)


def _arrays_of(item: object) -> Mapping[object, object]:
    """Return what a generator yields.

    Raises:
        DataError: It is no iteration.
    """
    if isinstance(item, Mapping):
        return item
    if hasattr(item, "__dataframe__"):
        return columns(item)
    raise DataError(
        f"a generator yields {type(item).__name__}, where arrays by name are wanted, once for each input",
        hint='yield {"NAME": array} for each input, or give the arrays of one input as a list',
    )


def _are_iterations(data: Sequence[object]) -> bool:
    return bool(data) and all(isinstance(item, Mapping) for item in data)


def _named(outputs: Mapping[object, object], *, masks: bool) -> dict[str, Array]:
    """Return arrays by name, those that are nested as `flattened` names them; None is left out.

    Raises:
        DataError: Something is not an array.
    """
    parts = flattened(outputs, masks=masks)
    return {str(name): _array(str(name), value) for name, value in parts if value is not None}


def _array(name: str, value: object) -> Array:
    try:
        array = to_numpy(value)
    except DataError as error:
        raise DataError(f"{name!r}: {error.what}", hint=error.hint) from error
    except Exception as error:
        raise DataError(f"{name!r} cannot be read as an array", why=f"it is a {type(value).__name__}") from error
    if array.dtype == object and not all(isinstance(item, str | bytes) for item in array.flat):
        raise DataError(f"{name!r} holds no numbers", why=f"it is a {type(value).__name__}")
    return array
