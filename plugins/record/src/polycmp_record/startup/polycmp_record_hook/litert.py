"""Calls of LiteRT's interpreters, also as TensorFlow Lite and within TensorFlow."""

from __future__ import annotations

import functools
import sys
import weakref
from typing import Any

from .spool import Model, Spool


def watch(spool: Spool, module: Any) -> None:
    """Watch the interpreters of a module."""
    package = module.__name__.partition(".")[0]
    _Interpreters(spool, package).wrap(module.Interpreter, module.SignatureRunner)
    spool.saw(package)


class _Interpreters:
    """What is known of each interpreter.

    Args:
        spool: Where calls are kept.
        package: The package that the interpreters belong to.
    """

    def __init__(self, spool: Spool, package: str) -> None:
        self._spool = spool
        self._package = package
        self._models: weakref.WeakKeyDictionary[Any, Model] = weakref.WeakKeyDictionary()
        self._names: weakref.WeakKeyDictionary[Any, tuple[dict[str, int], dict[str, int]]] = weakref.WeakKeyDictionary()

    def wrap(self, interpreter: Any, signature: Any) -> None:
        """Watch how interpreters are made and run."""
        original_init, remember = interpreter.__init__, self._spool.careful(self._remember)

        @functools.wraps(original_init)
        def init(this: Any, *args: Any, **kwargs: Any) -> None:
            original_init(this, *args, **kwargs)
            remember(this, *args, **kwargs)

        interpreter.__init__ = init
        invoke, take, keep = interpreter.invoke, self._spool.careful(self._take), self._spool.careful(self._keep)

        @functools.wraps(invoke)
        def watched(this: Any) -> Any:
            inputs = take(this) if self._due(this) else None  # running may overwrite them
            result = invoke(this)
            if inputs is not None:
                keep(this, inputs)
            return result

        interpreter.invoke = watched
        self._wrap_signatures(interpreter, signature)

    def _wrap_signatures(self, interpreter: Any, signature: Any) -> None:
        get, call = interpreter.get_signature_runner, signature.__call__
        of_runner: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        remember = self._spool.careful(lambda runner, this: of_runner.update({runner: this}))
        keep = self._spool.careful(lambda this, *tensors: self._spool.keep(self._models[this], *tensors))

        @functools.wraps(get)
        def get_signature_runner(this: Any, *args: Any, **kwargs: Any) -> Any:
            runner = get(this, *args, **kwargs)
            remember(runner, this)
            return runner

        @functools.wraps(call)
        def watched(runner: Any, **inputs: Any) -> Any:
            outputs = call(runner, **inputs)
            this = of_runner.get(runner)
            if this is not None and self._due(this):
                keep(this, inputs, outputs)
            return outputs

        interpreter.get_signature_runner = get_signature_runner
        signature.__call__ = watched

    def _remember(
        self, interpreter: Any, model_path: Any = None, model_content: bytes | None = None, *_: Any, **arguments: Any
    ) -> None:
        options = {"num_threads": arguments.get("num_threads")}
        content = None if model_content is None else bytes(model_content)
        version = getattr(sys.modules[self._package], "__version__", "")
        library = f"{self._package} {version}".rstrip()
        self._models[interpreter] = Model("tf", library, options, model_path, content)

    def _due(self, interpreter: Any) -> bool:
        model = self._models.get(interpreter)
        return model is not None and self._spool.due(model)

    def _take(self, interpreter: Any) -> dict[str, Any]:
        if interpreter not in self._names:
            self._names[interpreter] = _names(interpreter)
        return {name: interpreter.get_tensor(index) for name, index in self._names[interpreter][0].items()}

    def _keep(self, interpreter: Any, inputs: dict[str, Any]) -> None:
        outputs = {name: interpreter.get_tensor(index) for name, index in self._names[interpreter][1].items()}
        self._spool.keep(self._models[interpreter], inputs, outputs)


def _names(interpreter: Any) -> tuple[dict[str, int], dict[str, int]]:
    """Return inputs and outputs by the names that the model's only signature gives them, else by their tensors'."""
    signatures = list(interpreter.get_signature_list() or {})
    input_details, output_details = interpreter.get_input_details(), interpreter.get_output_details()
    by_tensor = (
        {item["name"]: item["index"] for item in input_details},
        {item["name"]: item["index"] for item in output_details},
    )
    if len(signatures) != 1:
        return by_tensor
    runner = interpreter.get_signature_runner(signatures[0])
    by_signature = tuple(
        {name: item["index"] for name, item in details.items()}
        for details in (runner.get_input_details(), runner.get_output_details())
    )
    same = all({*tensors.values()} == {*arguments.values()} for tensors, arguments in zip(by_tensor, by_signature))  # noqa: B905
    return (by_signature[0], by_signature[1]) if same else by_tensor
