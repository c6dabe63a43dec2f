"""The runner for sessions of ONNX Runtime."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import BackendError, DataError
from polycmp.loader import keyword_aliases, resolve
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata, is_low_bit, to_numpy
from polycmp_onnxrt.arrays import element_type, from_ort_value, plain_output, to_ort_value
from polycmp_onnxrt.logs import captured, severity
from polycmp_onnxrt.plugin import Options, loader_arguments
from polycmp_onnxrt.session import SessionFromOnnx, import_onnxruntime

if TYPE_CHECKING:
    from polycmp.spec import ModelHandle


_OPTIONAL = "optional("


def _optional(value: Any) -> bool:
    return bool(value.type.startswith(_OPTIONAL))


@keyword_aliases(sess="session")
class OnnxrtRunner(Runner):
    """Runs a model in ONNX Runtime.

    Args:
        session: An `onnxruntime.InferenceSession`, or a callable that returns one, such as `SessionFromOnnx`.
        name: The label in reports.
    """

    outputs_stay_valid = True

    def __init__(self, session: Any, name: str = "") -> None:
        super().__init__(name)
        self._source = session
        self._session: Any = None

    def activate_impl(self) -> None:
        """Make the session.

        Raises:
            BackendError: It cannot be made, or an input or output holds no tensors.
        """
        self._ort = import_onnxruntime()
        session = resolve(self._source)
        self.notes = list(getattr(self._source, "notes", ()))
        self._inputs_declared = {value.name: self._input_type(value) for value in session.get_inputs()}
        self._outputs_declared = {value.name: value.type for value in session.get_outputs()}
        outputs = {value.name: self._output_type(value) for value in session.get_outputs()}
        self._output_names = list(outputs)
        self._nested = any(dtype is None for dtype in outputs.values())
        # Types that NumPy lacks cannot pass through `run`, which would otherwise do all of this by itself.
        self._by_value = any(
            is_low_bit(dtype) for dtype in [*self._inputs_declared.values(), *outputs.values()] if dtype
        )
        self._run_options = self._ort.RunOptions()
        self._run_options.log_severity_level = severity()
        self._session = session

    def _input_type(self, value: Any) -> np.dtype[Any]:
        try:
            return element_type(value.type[len(_OPTIONAL) : -1] if _optional(value) else value.type)
        except (BackendError, DataError) as error:
            hint = "only tensors are fed; make a model of what comes after it: "
            hint += "polycmp surgeon extract MODEL --inputs NAME:[…]:auto"
            raise BackendError(f"input {value.name!r} {error.what}", whose=self.name, hint=hint) from error

    def _output_type(self, value: Any) -> np.dtype[Any] | None:
        """Return the type of an output's elements; None for a sequence, a map or an optional, which holds tensors."""
        if value.type.startswith(("seq(", "map(", _OPTIONAL)):
            return None
        try:
            return element_type(value.type)
        except (BackendError, DataError) as error:
            raise BackendError(f"output {value.name!r} {error.what}", whose=self.name, hint=error.hint) from error

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the inputs as ONNX Runtime declares them."""
        metadata = TensorMetadata()
        for value in self._session.get_inputs():
            # ONNX Runtime shows an unknown rank and a scalar alike, as no dimensions; it checks a scalar itself.
            declared, optional = self._inputs_declared[value.name], _optional(value)
            metadata.add(value.name, declared, value.shape or None, optional=optional)
        return metadata

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs, but for optional ones that are empty; they live as long as they are referenced.

        Raises:
            BackendError: ONNX Runtime failed.
        """
        feed = {name: to_numpy(value) for name, value in feed_dict.items()}
        try:
            with captured():
                outputs = self._run_values(feed) if self._by_value else self._run_arrays(feed)
        except BackendError:
            raise
        except Exception as error:
            from polycmp_onnxrt.reasons import running_failed

            raise running_failed(error, whose=self.name) from error
        if self._nested:
            known = self._outputs_declared
            return {name: plain_output(known[name], value) for name, value in outputs.items() if value is not None}
        for name in outputs.keys() & feed.keys():
            # ONNX Runtime 1.20 gives an input that is an output, too, back without keeping its memory alive.
            if np.may_share_memory(outputs[name], feed[name]):
                outputs[name] = outputs[name].copy()
        return outputs

    def _run_arrays(self, feed: dict[str, Any]) -> dict[str, Any]:
        arrays = self._session.run(self._output_names, feed, self._run_options)
        return dict(zip(self._output_names, arrays, strict=True))

    def _run_values(self, feed: dict[str, Any]) -> dict[str, Any]:
        values = {name: to_ort_value(self._ort, array) for name, array in feed.items()}
        results = self._session.run_with_ort_values(self._output_names, values, self._run_options)
        return {name: from_ort_value(value) for name, value in zip(self._output_names, results, strict=True)}

    def deactivate_impl(self) -> None:
        """Let the session go; write the profile if one was asked for."""
        session, self._session = self._session, None
        wanted = getattr(self._source, "profile", None)
        if wanted is not None:
            written = session.end_profiling()
            if Path(written).exists():
                os.replace(written, wanted)  # noqa: PTH105


def make_runner(model: ModelHandle, options: Options | None, *, name: str) -> OnnxrtRunner:
    """Return the runner for a model of the command line.

    Args:
        model: The model handle.
        options: The backend's options.
        name: The label in reports.
    """
    return OnnxrtRunner(SessionFromOnnx(model.load("onnx"), **loader_arguments(options or Options())), name)
