"""The runner for JAX's functions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import BackendError, describe_exception
from polycmp.loader import Loader, resolve
from polycmp.runner import Runner, overflow_remark
from polycmp.tensors import TensorMetadata, to_numpy
from polycmp_jax.model import JaxFromScript, JaxModel, import_jax, named_leaves
from polycmp_jax.plugin import Options

if TYPE_CHECKING:
    from polycmp.spec import ModelHandle


class JaxRunner(Runner):
    """Runs a function in JAX, compiled by XLA.

    Args:
        model: A `JaxModel`, or a callable that returns one, such as `JaxFromFile`.
        name: The label in reports.
        options: Device, compilation and precision.
    """

    outputs_stay_valid = True

    def __init__(self, model: Any, name: str = "", options: Options | None = None) -> None:
        super().__init__(name)
        self._source = model
        self._options = options or Options()
        self._model: JaxModel | None = None

    def activate_impl(self) -> None:
        """Load the function.

        Raises:
            BackendError: There is no such device, or what runs cannot be taken apart.
            PolycmpError: The loader's errors.
        """
        self._jax = import_jax()
        model: JaxModel = resolve(self._source)
        if model.text and not self._options.jit:
            raise BackendError(
                "an exported program runs as it was compiled", whose=self.name, hint="leave out jit=false"
            )
        try:
            self._device = self._jax.devices(self._options.device)[0]
        except RuntimeError as error:
            raise BackendError(
                f"JAX has no device {self._options.device!r} here",
                whose=self.name,
                why=describe_exception(error),
                hint="-b jax:device=cpu",
            ) from error
        compiler_options = {name: _value(text) for name, text in self._options.compiler_options.items()}
        self._call = self._jax.jit(model.call, compiler_options=compiler_options) if self._options.jit else model.call
        self.backend_version = str(self._jax.__version__)
        self.notes = []
        self._overflows = False
        self._model = model

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the inputs; types and shapes are unknown where the function does not say them."""
        assert self._model is not None
        return self._model.inputs

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return the arrays that the function returns.

        Raises:
            BackendError: The function failed, or returned other than the model's outputs.
        """
        assert self._model is not None
        arrays = [to_numpy(feed_dict[name]) for name in self._model.inputs]
        wide = self._model.is_64_bit or self._options.x64
        if not wide and any(array.dtype.itemsize == 8 and array.dtype.kind in "fiu" for array in arrays):
            self.notes = ["JAX takes inputs of 64 bits as ones of 32 unless x64 is given"]
        try:
            with self._settings(wide):
                returned = named_leaves(self._jax, self._call(*arrays), "output")
                values = [(name, np.asarray(value)) for name, value in returned]
        except Exception as error:
            raise BackendError("the function failed", whose=self.name, why=_first_line(error)) from error
        if not wide:
            self._tell_overflow(arrays, values)
        names = self._model.outputs
        if names and len(names) != len(values):
            raise BackendError(
                f"the function returns {len(values)} arrays, the model has {len(names)} outputs",
                whose=self.name,
                why=f"outputs are {', '.join(names)}",
                hint="return exactly the model's outputs, in this order",
            )
        return dict(zip(names, (value for _, value in values), strict=True)) if names else dict(values)

    def _tell_overflow(self, arrays: list[Any], values: list[tuple[str, Any]]) -> None:
        """Note where numbers are infinite or NaN that float64 makes finite."""
        if not self._overflows:
            remark = overflow_remark(
                arrays,
                dict(values),
                partial(self._in_float64, arrays),
                "XLA leaves out what it simplifies, as of log(exp(x))",
            )
            self._overflows = remark is not None
            self.notes += [remark] if remark else []

    def _in_float64(self, arrays: list[Any]) -> dict[str, Any]:
        """Return what the function makes in 64 bits."""
        assert self._model is not None
        wide = [array.astype(np.float64) if array.dtype.kind == "f" else array for array in arrays]
        with self._settings(True):
            return {
                name: np.asarray(value) for name, value in named_leaves(self._jax, self._model.call(*wide), "output")
            }

    @contextmanager
    def _settings(self, wide: bool) -> Iterator[None]:
        """Set what JAX keeps for each thread, for the time of a call."""
        jax, options = self._jax, self._options
        with ExitStack() as stack:
            stack.enter_context(jax.default_device(self._device))
            if wide:
                stack.enter_context(_enable_x64(jax))
            if options.precision != "default":
                stack.enter_context(jax.default_matmul_precision(options.precision))
            if not options.jit:
                stack.enter_context(jax.disable_jit())
            yield

    def deactivate_impl(self) -> None:
        """Drop the function and what was compiled of it."""
        if self._model is not None and hasattr(self._call, "clear_cache"):
            with suppress(Exception):
                self._call.clear_cache()
        self._model = self._call = None


def _enable_x64(jax: Any) -> Any:
    """Return the context in which JAX calculates in 64 bits, which was an experiment before 0.8."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    from jax.experimental import enable_x64

    return enable_x64()


def _value(text: str) -> Any:
    """Return the value of an option of XLA, which knows numbers and flags by their types."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _first_line(error: Exception) -> str:
    """Return what an error of JAX says, without the remark on its traceback that follows."""
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def make_runner(model: ModelHandle, options: Options | None, *, name: str) -> JaxRunner:
    """Return the runner for a model of the command line.

    Args:
        model: The model handle.
        options: The backend's options.
        name: The label in reports.

    Raises:
        BackendError: The model is one of ONNX, and no function was given.
    """
    options = options or Options()
    return JaxRunner(_function_of(model, options, name), name, options)


def _function_of(model: ModelHandle, options: Options, name: str) -> Loader[JaxModel]:
    if model.kind == "jax":
        return model.load("jax")
    source = model.load("onnx")
    if options.script is None:
        raise BackendError(
            "runs no ONNX model itself",
            whose=name,
            why="the one converter from ONNX to JAX knows few operators",
            hint="give the function that the model was exported from: -b jax:script=FILE.py:NAME",
        )
    if source.exact_file() is None:
        raise BackendError(
            f"{options.script} makes the whole function, but a part or a changed form of the model was requested",
            whose=name,
            hint="leave out options that change the ONNX model",
        )
    return JaxFromScript(options.script, source)
