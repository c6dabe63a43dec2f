"""Sources of inputs under the names of `polygraphy.comparator`."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable
from typing import Any

from polycmp.comparator import DataLoader as _DataLoader
from polycmp.comparator import StreamingDataLoader as StreamingDataLoader
from polycmp.errors import DataError
from polycmp.json import save_json
from polycmp.tensors import TensorEntry, TensorMetadata, check_feed, dtype_of, to_numpy

_LOG = logging.getLogger("polycmp.polygraphy")


class DataLoader(_DataLoader):
    """Random inputs, with the attributes of Polygraphy's; a class that overrides `[]` is read by it.

    Args:
        seed: Seed of the first iteration; None means 1.
        iterations: Number of iterations; None means 1.
        input_metadata: Element types and shapes of inputs, by name.
        val_range: Range of the values, or one per input.
        data_loader_backend_module: `numpy` or `torch`: whose arrays to make.
        further: What the class of polycmp takes besides.

    Attributes:
        seed: Seed of the first iteration.
        iterations: Number of iterations.
        user_input_metadata: What was given as `input_metadata`.
        val_range: What was given, or 0 to 1.
        data_loader_backend_module: Whose arrays are made.
    """

    def __init__(
        self,
        seed: int | None = None,
        iterations: int | None = None,
        input_metadata: Any = None,
        val_range: Any = None,
        data_loader_backend_module: str | None = None,
        **further: Any,
    ) -> None:
        self.seed = 1 if seed is None else seed
        self.iterations = 1 if iterations is None else iterations
        self.user_input_metadata = input_metadata or {}
        self.val_range = (0.0, 1.0) if val_range is None else val_range
        module = data_loader_backend_module or further.pop("backend_module", None) or "numpy"
        self.data_loader_backend_module = module
        super().__init__(seed, iterations, input_metadata, val_range, module, **further)

    def __call__(self, inputs: TensorMetadata) -> Iterable[Any]:
        """Return the feeds for a model's inputs.

        Args:
            inputs: The inputs that the model declares.
        """
        feeds = super().__call__(inputs)
        return feeds if type(self).__getitem__ is _DataLoader.__getitem__ else iter(_Items(self.__getitem__))


class _Items:
    """A sequence of which only `[]` is known, which `iter` reads until there is no such index."""

    def __init__(self, item: Callable[[int], Any]) -> None:
        self._item = item

    def __getitem__(self, index: int) -> Any:
        return self._item(index)


class DataLoaderCache:
    """The feeds of a data loader, made once and given to every runner.

    Args:
        data_loader: Gives the feeds.
        save_inputs_path: A file that they are saved to as well.
    """

    def __init__(self, data_loader: Any, save_inputs_path: Any = None) -> None:
        self.data_loader = data_loader
        self.save_inputs_path = save_inputs_path
        self.cache: list[Any] = []
        self.input_metadata: TensorMetadata | None = None

    def set_input_metadata(self, input_metadata: TensorMetadata) -> None:
        """Make the feeds for these inputs, at the first call; later ones say what `[]` is to check a feed by.

        Raises:
            DataError: There are no feeds.
        """
        self.input_metadata = input_metadata
        if self.cache:
            return
        with contextlib.suppress(AttributeError):
            self.data_loader.input_metadata = input_metadata
        self.cache = list(self.data_loader)
        if not self.cache:
            raise DataError("the data loader gave no data")
        if self.save_inputs_path is not None:
            save_json(self.cache, self.save_inputs_path, "inputs")

    def __getitem__(self, iteration: int) -> Any:
        """Return a feed in the types of the inputs; what does not fit comes from the data loader again.

        Raises:
            IndexError: There is no such iteration.
            DataError: The feed does not fit.
        """
        if iteration >= len(self.cache):
            raise IndexError(f"there is no iteration {iteration}: there are {len(self.cache)}")
        if self.input_metadata is None:
            return self.cache[iteration]
        return {name: self._fitting(iteration, name, entry) for name, entry in self.input_metadata.items()}

    def _fitting(self, iteration: int, name: str, entry: TensorEntry) -> Any:
        only, cached = TensorMetadata({name: entry}), self.cache[iteration]
        feed = {name: cached[name]} if name in cached else {}
        if feed and entry.dtype is not None and dtype_of(feed[name]) != entry.dtype:
            _LOG.warning("input %r holds %s, the model wants %s: it is converted", name, feed[name].dtype, entry.dtype)
            feed[name] = to_numpy(feed[name]).astype(entry.dtype)
        try:
            check_feed(feed, only)
        except DataError:
            if not hasattr(self.data_loader, "__getitem__") or name not in self.data_loader[iteration]:
                raise
            feed = {name: self.data_loader[iteration][name]}
            check_feed(feed, only)
        return feed[name]
