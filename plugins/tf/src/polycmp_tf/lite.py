"""LiteRT (TensorFlow Lite) models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polycmp.errors import ModelError, PluginError, describe_exception
from polycmp.runner import usable_cores
from polycmp.tensors import TensorMetadata


class LiteModel:
    """A `.tflite` file in an interpreter.

    Args:
        path: The file.
        signature: Name of the signature to run, where there are several.
        threads: Number of threads; None for all cores that this process may use.

    Attributes:
        inputs: The inputs by their names in the signature, else by their tensors' names.
        outputs: The outputs, named likewise.
        version: The interpreter's version.

    Raises:
        PluginError: No interpreter is installed.
        ModelError: The file is no LiteRT model, or has no such signature.
    """

    def __init__(self, path: str, signature: str, threads: int | None) -> None:
        try:
            import ai_edge_litert
            from ai_edge_litert.interpreter import Interpreter
        except ImportError as error:
            raise PluginError(
                "needs LiteRT to run .tflite files",
                whose="tf",
                why=str(error),
                hint="pip install 'polycmp-tf[lite]'",
            ) from error
        self.version = f"LiteRT {getattr(ai_edge_litert, '__version__', '')}".strip()
        try:
            self._lite = Interpreter(model_path=path, num_threads=threads or usable_cores())
            signatures = self._lite.get_signature_list() or {}
        except Exception as error:
            raise ModelError(f"{path} is not a LiteRT model", whose="tf", why=describe_exception(error)) from error
        self._signature = self._choose(path, signature, list(signatures))
        self._describe()

    def _choose(self, path: str, signature: str, known: list[str]) -> Any:
        if not known:
            return None
        if signature not in known and len(known) > 1:
            raise ModelError(
                f"{path} has no signature {signature!r}", whose="tf", why=f"it has {', '.join(known)}",
                hint=f"-b tf:signature={known[0]}",
            )  # fmt: skip
        return self._lite.get_signature_runner(signature if signature in known else known[0])

    def _describe(self) -> None:
        if self._signature is not None:
            self._input_details = self._signature.get_input_details()
            self._output_details = self._signature.get_output_details()
        else:
            self._input_details = {item["name"]: item for item in self._lite.get_input_details()}
            self._output_details = {item["name"]: item for item in self._lite.get_output_details()}
        self.inputs, self.outputs = _metadata(self._input_details), _metadata(self._output_details)

    def run(self, feed: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs for one feed; an input of another shape makes the interpreter plan anew."""
        if self._signature is not None:
            return dict(self._signature(**feed))
        for name, item in self._input_details.items():
            self._lite.resize_tensor_input(item["index"], feed[name].shape)
        self._lite.allocate_tensors()
        for name, item in self._input_details.items():
            self._lite.set_tensor(item["index"], feed[name])
        self._lite.invoke()
        return {name: self._lite.get_tensor(item["index"]) for name, item in self._output_details.items()}


def _metadata(details: Mapping[str, Any]) -> TensorMetadata:
    """Return the types and declared shapes of tensors that an interpreter describes."""
    metadata = TensorMetadata()
    for name, item in details.items():
        known = item.get("shape_signature")
        shape = item["shape"] if known is None or len(known) == 0 else known
        metadata.add(name, item["dtype"], [int(dim) for dim in shape])
    return metadata
