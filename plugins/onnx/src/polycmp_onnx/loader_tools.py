"""What the loader of ONNX models can do besides loading; each method imports what it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from polycmp.spec import LoaderTools

if TYPE_CHECKING:
    from onnx import ModelProto

    from polycmp.loader import Loader
    from polycmp.plugins import Registry
    from polycmp.tensors import ModelDescription
    from polycmp_onnx.hints import GraphHints
    from polycmp_onnx.model_graph import OnnxGraph
    from polycmp_onnx.plugin import LoaderOptions


class OnnxTools(LoaderTools):
    """Everything that `polycmp.spec.LoaderTools` knows."""

    takes_model = True
    graph_modules = ("polycmp_onnx.model_graph",)

    def structure(self, path: str) -> ModelProto:
        """Return a model without the content of large weights."""
        from polycmp_onnx.load import shared_structure

        return shared_structure(path)

    def describe(self, source: Any, options: LoaderOptions | None) -> ModelDescription:
        """Return names, types and shapes of inputs and outputs."""
        from polycmp_onnx.describe import describe

        return describe(source, options)

    def hints(self, source: Any, options: LoaderOptions | None) -> GraphHints:
        """Return which sizes operators ask of open dimensions."""
        from polycmp_onnx.hints import open_hints

        return open_hints(source, options)

    def graph(self, loader: Loader[Any]) -> OnnxGraph:
        """Return a model as a graph that can be cut."""
        from polycmp_onnx.model_graph import open_graph

        return open_graph(loader)

    def join(self, parts: Mapping[str, Loader[Any]]) -> Loader[Any]:
        """Return a loader of one model of separate parts."""
        from polycmp_onnx.join import join

        return join(parts)

    def files(self, path: str) -> list[str]:
        """Return the paths of the files with a model's weights."""
        from polycmp_onnx.describe import referenced_files

        return referenced_files(path)

    def facts(self, path: str) -> Mapping[str, Any]:
        """Return opset and version of the format."""
        from polycmp_onnx.facts import facts

        return facts(path)

    def inspect(self, loader: Callable[[], Any], show: Iterable[str]) -> str:
        """Return a model as text."""
        from polycmp_onnx.inspect import inspect

        return inspect(loader, show)

    def save(self, loader: Callable[[], Any], path: str) -> None:
        """Write a model."""
        from polycmp_onnx.save import save

        save(loader, path)

    def save_verified(
        self, loader: Callable[[], Any], path: str, *, original: Callable[[], Any], registry: Registry
    ) -> tuple[str, ...]:
        """Write a model once ONNX's rules and a backend take it as well as the original."""
        from polycmp_onnx.verify import save_part

        return save_part(loader, path, original=original, registry=registry)

    def draft(self, loader: Callable[[], Any], path: str, weights: str, *, whole: bool) -> None:
        """Write a part of a model that may share its weights with others."""
        from polycmp_onnx.draft import draft

        draft(loader, path, weights, whole=whole)
