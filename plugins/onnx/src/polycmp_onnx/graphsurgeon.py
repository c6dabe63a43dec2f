"""Models as graphs of onnx-graphsurgeon, for programs that change them with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.errors import PluginError, describe_exception
from polycmp.loader import Loader, immediate
from polycmp_onnx.load import given_model

if TYPE_CHECKING:
    from onnx_graphsurgeon import Graph

    from polycmp_onnx.load import ModelSource


class GsFromOnnx(Loader["Graph"]):
    """Turns a model into a graph of onnx-graphsurgeon; every loader and runner for ONNX takes such a graph.

    Args:
        model: A model, or a callable that returns one.
    """

    def __init__(self, model: ModelSource) -> None:
        self.model = model

    def call_impl(self) -> Graph:
        """Return the graph.

        Raises:
            PluginError: onnx-graphsurgeon is not installed.
            ModelError: The model cannot be read.
        """
        try:
            import onnx_graphsurgeon
        except ImportError as error:
            raise PluginError(
                "graphs of onnx-graphsurgeon need onnx-graphsurgeon",
                whose="onnx",
                why=describe_exception(error),
                hint="pip install onnx-graphsurgeon",
            ) from error
        return onnx_graphsurgeon.import_onnx(given_model(self.model))


gs_from_onnx = immediate(GsFromOnnx)
