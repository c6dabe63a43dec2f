"""Calls of ONNX Runtime's sessions."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .spool import Model, Spool, as_array

_OPTIONS = ("graph_optimization_level", "execution_mode", "intra_op_num_threads", "inter_op_num_threads")
#: Values that ONNX Runtime makes arrays of.
_PYTHON = (list, tuple, bool, int, float, str)
#: What NumPy calls the types that have another name in ONNX Runtime.
_NUMPY = {"float": "float32", "double": "float64", "string": "str"}


def watch(spool: Spool, library: Any) -> None:
    """Watch the sessions of `onnxruntime`."""
    sessions = _Sessions(spool, f"onnxruntime {library.__version__}")
    sessions.wrap(library.InferenceSession)
    _Bindings(spool, sessions).wrap(library.InferenceSession, library.IOBinding)
    spool.saw(f"onnxruntime {library.__version__}")


class _Sessions:
    """What is known of each session.

    Args:
        spool: Where calls are kept.
        library: The library and its version.
    """

    def __init__(self, spool: Spool, library: str) -> None:
        self._spool = spool
        self._library = library
        self._models: weakref.WeakKeyDictionary[Any, Model] = weakref.WeakKeyDictionary()

    def wrap(self, kind: Any) -> None:
        """Watch how sessions of a class are made and run."""
        original_init, remember = kind.__init__, self._spool.careful(self._remember)

        @functools.wraps(original_init)
        def init(session: Any, *args: Any, **kwargs: Any) -> None:
            original_init(session, *args, **kwargs)
            remember(session, *args, **kwargs)

        kind.__init__ = init
        for name in ("run", "run_with_ort_values"):
            if hasattr(kind, name):  # the second one is younger
                setattr(kind, name, self._watched(getattr(kind, name)))

    def _watched(self, run: Callable[..., Any]) -> Callable[..., Any]:
        keep = self._spool.careful(self._keep)

        @functools.wraps(run)
        def watched(session: Any, *args: Any, **kwargs: Any) -> Any:
            outputs = run(session, *args, **kwargs)
            if self.due(session):
                keep(session, outputs, *args, **kwargs)
            return outputs

        return watched

    def _remember(self, session: Any, path_or_bytes: Any, *_: Any, **__: Any) -> None:
        options = session.get_session_options()
        asked = {
            **{name: str(getattr(options, name)).rpartition(".")[2] for name in _OPTIONS},
            "providers": list(session.get_providers()),
            "provider_options": session.get_provider_options(),
        }
        source: dict[str, Any] = {"path": path_or_bytes}
        if isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
            source = {"content": bytes(path_or_bytes)}
        self._models[session] = Model(
            "onnxrt", self._library, asked, **source, all_outputs=[item.name for item in session.get_outputs()]
        )

    def due(self, session: Any) -> bool:
        """Return whether a call may be kept; sessions that were made in another way are not known."""
        model = self._models.get(session)
        return model is not None and self._spool.due(model)

    def keep(self, session: Any, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> None:
        """Keep a call of a session that is known."""
        self._spool.keep(self._models[session], inputs, outputs)

    def _keep(
        self,
        session: Any,
        values: Sequence[Any],
        output_names: Sequence[str] | None,
        input_feed: Any = None,
        run_options: Any = None,
        *,
        input_dict_ort_values: Any = None,
    ) -> None:
        feed = input_feed if input_dict_ort_values is None else input_dict_ort_values
        names = output_names or self._models[session].outputs
        if any(isinstance(value, _PYTHON) for value in feed.values()):
            types = {item.name: item.type for item in session.get_inputs()}
            feed = {name: _typed(value, types.get(name, "")) for name, value in feed.items()}
        self.keep(session, feed, dict(zip(names, values)))  # noqa: B905 - younger than Python 3.8


class _Bindings:
    """What a session's inputs and outputs are bound to, as `run_with_iobinding` uses it.

    Args:
        spool: Where calls are kept.
        sessions: What is known of each session.
    """

    def __init__(self, spool: Spool, sessions: _Sessions) -> None:
        self._spool = spool
        self._sessions = sessions
        self._inputs: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()
        self._outputs: weakref.WeakKeyDictionary[Any, dict[str, None]] = weakref.WeakKeyDictionary()

    def wrap(self, session: Any, binding: Any) -> None:
        """Watch what is bound, and the runs with it."""
        for name in ("bind_cpu_input", "bind_ortvalue_input"):
            self._wrap(binding, name, lambda this, key, value: self._inputs.setdefault(this, {}).update({key: value}))
        self._wrap(binding, "bind_input", self._lost)
        for name in ("bind_output", "bind_ortvalue_output"):
            self._wrap(
                binding, name, lambda this, key, *_, **__: self._outputs.setdefault(this, {}).update({key: None})
            )
        self._wrap(binding, "clear_binding_inputs", lambda this: self._inputs.pop(this, None))
        self._wrap(binding, "clear_binding_outputs", lambda this: self._outputs.pop(this, None))
        run = session.run_with_iobinding
        take, keep = self._spool.careful(self._take), self._spool.careful(self._keep)

        @functools.wraps(run)
        def watched(this: Any, iobinding: Any, run_options: Any = None) -> Any:
            # Outputs may be bound to the memory of inputs: what goes in is copied before.
            inputs = take(iobinding) if self._sessions.due(this) else None
            result = run(this, iobinding, run_options)
            if inputs is not None:
                keep(this, iobinding, inputs)
            return result

        session.run_with_iobinding = watched

    def _wrap(self, binding: Any, name: str, act: Callable[..., Any]) -> None:
        bind, act = getattr(binding, name), self._spool.careful(act)

        @functools.wraps(bind)
        def watched(this: Any, *args: Any, **kwargs: Any) -> Any:
            result = bind(this, *args, **kwargs)
            act(this, *args, **kwargs)
            return result

        setattr(binding, name, watched)

    def _lost(self, binding: Any, name: str, *_: Any, **__: Any) -> None:
        self._inputs.setdefault(binding, {})[name] = None

    def _take(self, binding: Any) -> dict[str, Any]:
        bound = self._inputs.get(binding, {})
        if any(value is None for value in bound.values()):
            raise ValueError(
                "an input is bound to an address (IOBinding.bind_input), which says nothing of its content"
            )
        return {name: as_array(value, name).copy() for name, value in bound.items()}

    def _keep(self, session: Any, binding: Any, inputs: Mapping[str, Any]) -> None:
        outputs = zip(self._outputs.get(binding, {}), binding.copy_outputs_to_cpu())  # noqa: B905 - as above
        self._sessions.keep(session, inputs, dict(outputs))


def _typed(value: Any, kind: str) -> Any:
    """Return a list as ONNX Runtime takes it: as an array of the type that the model declares."""
    if not isinstance(value, _PYTHON):
        return value
    import numpy as np

    name = kind.partition("(")[2].rstrip(")")
    return np.asarray(value, dtype=_NUMPY.get(name, name))
