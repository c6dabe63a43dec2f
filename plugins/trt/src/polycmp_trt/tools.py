"""Abilities of the loaders besides loading; each method imports what it needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from polycmp.spec import LoaderTools

if TYPE_CHECKING:
    from polycmp.loader import Loader


class EngineTools(LoaderTools):
    """Text and files of engines, which are built for the shapes and data of a run."""

    aliases = ("trt",)
    options_of = "trt"
    takes_model = True
    rewrites = False

    def inspect(self, loader: Loader[Any], show: Iterable[str]) -> str:
        """Return an engine as text."""
        from polycmp_trt.show.inspection import inspect_engine

        return inspect_engine(loader, show)

    def save(self, loader: Loader[Any], path: str) -> None:
        """Write an engine."""
        from polycmp_trt.factory import save

        save(loader, path)


class NetworkTools(LoaderTools):
    """Text of networks."""

    aliases = ("trt", "trt-network-script")
    options_of = "trt"

    def inspect(self, loader: Loader[Any], show: Iterable[str]) -> str:
        """Return a network as text."""
        from polycmp_trt.show.inspection import inspect_network

        return inspect_network(loader, show)


class OnnxLikeTools(LoaderTools):
    """Files of networks for viewers."""

    aliases = ("onnx-like",)
    options_of = "trt"

    def save(self, loader: Loader[Any], path: str) -> None:
        """Write a network as an ONNX file."""
        from polycmp_trt.show.onnx_like import save_onnx_like

        save_onnx_like(loader, path)
