"""What the loader of OpenVINO IR can do besides loading; each method imports what it needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from polycmp.spec import LoaderTools

if TYPE_CHECKING:
    from polycmp.loader import Loader
    from polycmp.tensors import ModelDescription


class IrTools(LoaderTools):
    """Description, text and files of OpenVINO IR."""

    aliases = ("openvino",)

    def describe(self, source: Any, options: Any) -> ModelDescription:
        """Return names, types and shapes of inputs and outputs."""
        from polycmp_openvino.ir import describe

        return describe(source, options)

    def inspect(self, loader: Loader[Any], show: Iterable[str]) -> str:
        """Return a model as text."""
        from polycmp_openvino.ir import inspect

        return inspect(loader, show)

    def save(self, loader: Loader[Any], path: str) -> None:
        """Write a model as an .xml file with its .bin."""
        from polycmp_openvino.ir import save

        save(loader, path)
