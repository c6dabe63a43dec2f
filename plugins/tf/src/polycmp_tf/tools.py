"""Abilities of the loader besides loading; each method imports what it needs."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from polycmp.errors import ModelError, PolycmpError
from polycmp.spec import LoaderTools, RunnerTools, Switch

if TYPE_CHECKING:
    from polycmp.graph import ModelGraph
    from polycmp.loader import Loader
    from polycmp.spec import ModelHandle
    from polycmp_tf.plugin import Options


class TfRunnerTools(RunnerTools):
    """A framework that runs whole models, and parts of LiteRT's."""

    threads = "threads"
    aliases = ("tensorflow", "tflite", "litert", "keras")
    switches = (Switch("kernels", ("builtin", "reference")),)

    def inside(self, model: ModelHandle, options: Options) -> str:
        """Return how to see the tensors inside, which LiteRT's models alone show, those with variables excepted."""
        from polycmp_tf.files import TFLITE

        if not model.path.endswith(TFLITE):
            return "none"
        from polycmp_tf.lite_graph import LiteGraph

        with suppress(PolycmpError):  # it cannot be read, or not here: its run says so
            if LiteGraph(model.path, options).has_variables:
                return "none"
        return "graph"

    def precision(self, model: ModelHandle, options: Options) -> str:
        """Return int8 where a LiteRT model calculates with codes, float16 where its weights were rounded to that."""
        from polycmp_tf.files import TFLITE

        if not model.path.endswith(TFLITE):
            return ""
        from polycmp_tf.lite_graph import LiteGraph

        try:
            graph = LiteGraph(model.path, options)
            return "int8" if graph.has_codes else "float16" if graph.has_half_weights else ""
        except PolycmpError:  # it cannot be read, or not here: its run says so
            return ""


class TfLoaderTools(LoaderTools):
    """Text and further files of TensorFlow's models, and what converts them."""

    aliases = ("tensorflow", "frozen", "keras", "tflite")
    options_of = "tf"

    def graph(self, loader: Loader[Any]) -> ModelGraph | None:
        """Return the operators and tensors of a LiteRT model; None for others."""
        from polycmp_tf.files import TFLITE
        from polycmp_tf.model import TfFromFile

        if not isinstance(loader, TfFromFile) or not loader.path.endswith(TFLITE):
            return None
        from polycmp_tf.lite_graph import LiteGraph
        from polycmp_tf.plugin import Options

        return LiteGraph(loader.path, loader.options or Options())

    @staticmethod
    def save(loader: Loader[Any], path: str) -> None:
        """Write a part of a LiteRT model, the one thing of TensorFlow's that can be written.

        Raises:
            ModelError: It is something else.
        """
        from polycmp_tf.lite_graph import LitePartLoader

        if not isinstance(loader, LitePartLoader):
            raise ModelError("models of kind tf cannot be written", whose="tf")
        loader.save(path)

    def inspect(self, loader: Loader[Any], show: Iterable[str]) -> str:
        """Return a model as text."""
        from polycmp_tf.model import inspect

        return inspect(loader, show)

    def files(self, path: str) -> Iterable[str]:
        """Return the paths of the files in a folder that is one model."""
        from polycmp_tf.files import further_files

        return further_files(path)

    def other_tools(self, path: str, kind: str) -> str:
        """Return the command that converts a model to ONNX."""
        from polycmp_tf.files import other_tools

        return other_tools(path, kind)
