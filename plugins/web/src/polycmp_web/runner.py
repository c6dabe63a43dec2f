"""The runner for models that ONNX Runtime Web runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from polycmp.errors import BackendError, ModelError
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata
from polycmp_onnx.graph import graph_inputs, tensor_metadata
from polycmp_onnx.load import given_model
from polycmp_web.library import library
from polycmp_web.messages import output, packed, run_request, unpacked
from polycmp_web.plugin import Options

if TYPE_CHECKING:
    from collections.abc import Callable

    from polycmp.spec import ModelHandle
    from polycmp_web.library import Library

#: From this size on a model is no single message of protobuf.
_LARGEST = (1 << 31) - 1


class Engine(Protocol):
    """What answers requests: a process of Node, or a page."""

    def ask(self, request: bytes) -> bytes:
        """Return the answer to a request."""

    def close(self) -> None:
        """End it."""


class WebRunner(Runner):
    """Runs an ONNX model in ONNX Runtime Web.

    Args:
        model: A model in any form that the loaders of polycmp-onnx take, or a callable that returns one.
        name: The label in reports.
        options: Which package, where it runs, and how; by default WebAssembly in Node.
        start: Gives what answers its requests; by default a process or a page of its own.
    """

    outputs_stay_valid = True

    def __init__(
        self,
        model: Any,
        name: str = "",
        options: Options | None = None,
        start: Callable[[Library], Engine] | None = None,
    ) -> None:
        super().__init__(name)
        self._source = model
        self._options = options or Options()
        self._start = start or self._own_engine
        self._engine: Engine | None = None

    def activate_impl(self) -> None:
        """Start Node or the browser, and make a session.

        Raises:
            PluginError: Node, onnxruntime-web or the browser is not installed.
            ModelError: ONNX Runtime Web cannot take the model.
            BackendError: The process ended.
        """
        package = library(self._options.package, self.name)
        model = given_model(self._source)
        if model.ByteSize() > _LARGEST:
            raise ModelError("is larger than the 2 GB that onnxruntime-web takes in one piece", whose=self.name)
        self._inputs = tensor_metadata(graph_inputs(model.graph))
        self._outputs = [value.name for value in model.graph.output]
        self._engine = self._start(package)
        try:
            settings = {
                "wasm": {"numThreads": self._options.threads},
                "options": {
                    "executionProviders": [self._options.provider],
                    "graphOptimizationLevel": self._options.optimization,
                },
            }
            header, _ = unpacked(self._engine.ask(packed({"command": "open", **settings}, [model.SerializeToString()])))
            if "error" in header:
                raise ModelError("ONNX Runtime Web cannot take the model", whose=self.name, why=header["error"])
        except BaseException:
            self.deactivate_impl()
            raise
        self.backend_version = package.version

    def _own_engine(self, package: Library) -> Engine:
        if self._options.browser:
            from polycmp_web.browser import BrowserEngine

            return BrowserEngine(package, self._options, self.name)
        from polycmp_web.node import NodeEngine

        return NodeEngine(package, self.name)

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the inputs that the model declares."""
        return self._inputs

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs for one feed.

        Raises:
            BackendError: ONNX Runtime Web fails, takes no arrays of an input's type, or its process ended.
        """
        assert self._engine is not None
        header, parts = unpacked(self._engine.ask(run_request(feed_dict)))
        if "error" in header:
            raise BackendError("inference failed", whose=self.name, why=header["error"])
        self.inference_time = float(header["seconds"])
        arrays = {item["name"]: output(item, part) for item, part in zip(header["outputs"], parts, strict=True)}
        return {name: arrays[name] for name in self._outputs if name in arrays}

    def deactivate_impl(self) -> None:
        """End the process or the page."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()


def make_runner(model: ModelHandle, options: Options | None, *, name: str) -> WebRunner:
    """Return the runner for a model of the command line.

    Args:
        model: The model handle.
        options: The backend's options.
        name: The label in reports.
    """
    return WebRunner(model.load("onnx"), name, options)
