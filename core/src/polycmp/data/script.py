"""Input data from a user's Python file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import Any

from polycmp._script import load_script
from polycmp.errors import DataError, OthersCode
from polycmp.tensors import TensorMetadata


def make_script_loader(path: str, name: str = "load_data") -> Callable[[TensorMetadata], Iterator[dict[str, Any]]]:
    """Return a function of the inputs' metadata that yields the feeds a script makes.

    The script's attribute is a function without arguments that returns or yields feeds, or any iterable of feeds. An
    iterable that has an attribute `input_metadata` gets the inputs' metadata before it is asked for feeds.

    Args:
        path: The Python file.
        name: Name of the function or class in the script.

    Raises:
        DataError: The file cannot be loaded, or raises, or gives anything but mappings from name to array; feeds are
            checked as they come.
    """
    owner = f"{path}:{name}"
    content = load_script(path, name)

    def load(inputs: TensorMetadata) -> Iterator[dict[str, Any]]:
        feeds = _call(content, owner) if callable(content) else content
        if isinstance(feeds, Mapping) or not isinstance(feeds, Iterable):
            hint = "yield the feed, or return a list that holds it" if isinstance(feeds, Mapping) else ""
            raise DataError(f"gives {type(feeds).__name__} instead of several feeds", whose=owner, hint=hint)
        if hasattr(feeds, "input_metadata"):
            with OthersCode(DataError, "does not take input_metadata", whose=owner):
                feeds.input_metadata = inputs
        return _checked(feeds, owner)

    return load


def _call(function: Callable[[], Any], owner: str) -> Any:
    with OthersCode(DataError, "fails when called without arguments", whose=owner):
        return function()


def _checked(feeds: Iterable[Any], owner: str) -> Iterator[dict[str, Any]]:
    iterator = _guarded(feeds, owner)
    for number, feed in enumerate(iterator):
        if not isinstance(feed, Mapping):
            raise DataError(
                f"iteration {number} is {type(feed).__name__} instead of a mapping from input name to array",
                whose=owner,
                hint='yield {"input": array}',
            )
        for name, value in feed.items():
            if not isinstance(name, str):
                raise DataError(
                    f"iteration {number} has the key {name!r}, which is not the name of an input", whose=owner
                )
            if not (hasattr(value, "dtype") and hasattr(value, "shape")):
                raise DataError(
                    f"iteration {number} holds {type(value).__name__} instead of an array for {name!r}",
                    whose=owner,
                    hint="wrap it: numpy.asarray(value, dtype)",
                )
        yield dict(feed)


def _guarded(feeds: Iterable[Any], owner: str) -> Iterator[Any]:
    with OthersCode(DataError, "fails before iteration 0", whose=owner):
        iterator = iter(feeds)
    for number in count():
        with OthersCode(DataError, f"fails at iteration {number}", whose=owner):
            try:
                feed = next(iterator)
            except StopIteration:
                return
        yield feed
