"""Sources of inputs under the names of `polygraphy.comparator`."""

from __future__ import annotations

import contextlib
import logging
from typing import Any

from polycmp.comparator import DataLoader as DataLoader
from polycmp.comparator import StreamingDataLoader as StreamingDataLoader
from polycmp.errors import DataError
from polycmp.json import save_json
from polycmp.tensors import TensorEntry, TensorMetadata, check_feed, dtype_of, to_numpy

_LOG = logging.getLogger("polycmp.polygraphy")


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
        only, feed = TensorMetadata({name: entry}), self.cache[iteration]
        found = {name: feed[name]} if name in feed else {}
        if found and entry.dtype is not None and dtype_of(found[name]) != entry.dtype:
            _LOG.warning("input %r holds %s, the model wants %s: it is converted", name, found[name].dtype, entry.dtype)
            found[name] = to_numpy(found[name]).astype(entry.dtype)
        try:
            check_feed(found, only)
        except DataError:
            if not hasattr(self.data_loader, "__getitem__") or name not in self.data_loader[iteration]:
                raise
            found = {name: self.data_loader[iteration][name]}
            check_feed(found, only)
        return found[name]
