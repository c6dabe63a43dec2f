"""Abilities of the loader besides loading; each method imports what it needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from polycmp.spec import LoaderTools

if TYPE_CHECKING:
    from polycmp.loader import Loader


class TfLoaderTools(LoaderTools):
    """Text and further files of TensorFlow's models, and what converts them."""

    aliases = ("tensorflow", "frozen", "keras", "tflite")
    options_of = "tf"

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
