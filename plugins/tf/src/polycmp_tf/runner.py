"""The runner for TensorFlow and LiteRT models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import BackendError, PolycmpError, describe_exception
from polycmp.loader import resolve
from polycmp.runner import Runner
from polycmp.tensors import TensorEntry, TensorMetadata, to_numpy
from polycmp_tf.lite import moves
from polycmp_tf.lite_graph import LitePartLoader
from polycmp_tf.model import import_tensorflow
from polycmp_tf.plugin import Options

if TYPE_CHECKING:
    from polycmp.spec import ModelHandle


class TfRunner(Runner):
    """Runs a model in TensorFlow or LiteRT.

    Args:
        model: The model, as `TfFromFile` makes it, or a callable that returns it.
        name: The label in reports.
        options: Names and layouts of inputs and outputs, and what is to be written.
    """

    outputs_stay_valid = True

    def __init__(self, model: Any, name: str = "", options: Options | None = None) -> None:
        super().__init__(name)
        self._source = model
        self._options = options or Options()
        self._model: Any = None

    def activate_impl(self) -> None:
        """Load the model.

        Raises:
            PolycmpError: The loader's errors.
        """
        model = resolve(self._source)
        self.backend_version = model.version
        self.notes = model.notes  # what is fed may add to them
        options = self._options
        if options.save_tensorboard and getattr(model, "graph", None) is not None:
            summary = import_tensorflow().summary
            with summary.create_file_writer(options.save_tensorboard).as_default():
                summary.graph(model.graph)
        if options.save_timeline:
            import_tensorflow().profiler.experimental.start(options.save_timeline)
        self._model = model

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the inputs with the names and layouts of the options."""
        entries = {self._other(name): entry for name, entry in self._model.inputs.items()}
        return TensorMetadata({name: self._first(name, entry) for name, entry in entries.items()})

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs for one feed.

        Raises:
            BackendError: The model failed.
        """
        feed = {}
        for model_name in self._model.inputs:
            name = self._other(model_name)
            array = to_numpy(feed_dict[name])
            moved = np.moveaxis(array, 1, -1) if self._moves(name, array.ndim) else array
            feed[model_name] = np.ascontiguousarray(moved) if moved.ndim else moved
        try:
            outputs = self._model.run(feed)
        except PolycmpError:
            raise
        except Exception as error:
            why = describe_exception(error).splitlines()[0]
            raise BackendError("the model failed", whose=self.name, why=why) from error
        return {
            self._other(model_name): self._output(self._other(model_name), array)
            for model_name, array in outputs.items()
        }

    def _output(self, name: str, value: Any) -> Any:
        array = np.array(value)
        if array.dtype.kind in "SO":
            array = np.array([_text(item) for item in array.ravel()], object).reshape(array.shape)
        return np.ascontiguousarray(np.moveaxis(array, -1, 1)) if self._moves(name, array.ndim) else array

    def _other(self, model_name: str) -> str:
        return self._options.rename.get(model_name, model_name)

    def _moves(self, name: str, rank: int) -> bool:
        return moves(name, rank, self._options.nchw)

    def _first(self, name: str, entry: TensorEntry) -> TensorEntry:
        if entry.shape is None or not self._moves(name, len(entry.shape)):
            return entry
        shape = entry.shape
        return TensorEntry(entry.dtype, (shape[0], shape[-1], *shape[1:-1]))

    def deactivate_impl(self) -> None:
        """Drop the model; write the profile if one was asked for."""
        self._model = None
        if self._options.save_timeline:
            import_tensorflow().profiler.experimental.stop()


def _text(item: Any) -> str:
    return item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item)


def make_runner(model: ModelHandle, options: Options | None, *, name: str) -> TfRunner:
    """Return the runner for a model of the command line.

    Args:
        model: The model handle.
        options: The backend's options.
        name: The label in reports.
    """
    loader = model.load("tf")
    if isinstance(loader, LitePartLoader):  # a search may run a part with other options than the whole
        loader = LitePartLoader(loader.graph.with_options(options), loader.inputs, loader.outputs)
    return TfRunner(loader, name, options)
