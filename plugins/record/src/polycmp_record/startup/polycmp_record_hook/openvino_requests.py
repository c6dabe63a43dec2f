"""Calls of OpenVINO's inference requests, which every compiled model makes when it is called."""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from .spool import Model, Spool


def watch(spool: Spool, library: Any) -> None:
    """Watch the requests of `openvino`."""
    version = f"openvino {library.__version__.partition('-')[0]}"
    requests = _Requests(spool, version)
    requests.wrap_making(library.Core, library.CompiledModel)
    requests.wrap_running(library.InferRequest)
    spool.saw(version)


class _Requests:
    """What is known of models, compiled models and their requests.

    Args:
        spool: Where calls are kept.
        library: The library and its version.
    """

    def __init__(self, spool: Spool, library: str) -> None:
        self._spool = spool
        self._library = library
        self._sources: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self._models: weakref.WeakKeyDictionary[Any, Model] = weakref.WeakKeyDictionary()
        self._running: weakref.WeakSet[Any] = weakref.WeakSet()

    def wrap_making(self, core: Any, compiled: Any) -> None:
        """Watch how models are read and compiled, and requests made."""
        _after(core, "read_model", self._spool.careful(self._read))
        _after(core, "compile_model", self._spool.careful(self._compiled))
        _after(compiled, "create_infer_request", self._spool.careful(self._requested))

    def wrap_running(self, request: Any) -> None:
        """Watch how requests run."""
        _after(request, "infer", self._spool.careful(self._finished))
        _after(request, "start_async", self._spool.careful(lambda _, this, *__, **___: self._running.add(this)))
        _after(request, "wait", self._spool.careful(self._waited))

    def _read(self, result: Any, _: Any, model: Any, *__: Any, **___: Any) -> None:
        if isinstance(model, (str, os.PathLike)):
            self._sources[result] = model

    def _compiled(
        self, result: Any, _: Any, model: Any, device_name: Any = None, config: Any = None, **__: Any
    ) -> None:
        path = model if isinstance(model, (str, os.PathLike)) else self._sources.get(model)
        options = {
            "device": device_name or "AUTO",
            "precision": result.get_property("INFERENCE_PRECISION_HINT").get_type_name(),
            "config": {str(key): str(value) for key, value in (config or {}).items()},
        }
        self._models[result] = Model("openvino", self._library, options, path)

    def _requested(self, result: Any, compiled: Any) -> None:
        if compiled in self._models:
            self._models[result] = self._models[compiled]

    def _finished(self, _: Any, request: Any, *__: Any, **___: Any) -> None:
        model = self._models.get(request)
        if model is None or not self._spool.due(model):
            return
        inputs = _tensors(request.model_inputs, request.get_tensor)
        self._spool.keep(model, inputs, _tensors(request.model_outputs, request.get_tensor))

    def _waited(self, _: Any, request: Any) -> None:
        if request in self._running:
            self._running.discard(request)
            self._finished(None, request)


def _after(kind: Any, name: str, act: Callable[..., Any]) -> None:
    """Have a method of a class call a function with its result and its arguments."""
    method = getattr(kind, name)

    @functools.wraps(method)
    def watched(*args: Any, **kwargs: Any) -> Any:
        result = method(*args, **kwargs)
        act(result, *args, **kwargs)
        return result

    setattr(kind, name, watched)


def _tensors(ports: Iterable[Any], find: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the tensors of ports by the ports' names."""
    tensors = {}
    for port in ports:
        names = sorted(port.get_names())
        tensor = find(port)
        text = tensor.element_type.get_type_name() == "string"
        tensors[names[0] if names else port.get_node().get_friendly_name()] = tensor.str_data if text else tensor.data
    return tensors
