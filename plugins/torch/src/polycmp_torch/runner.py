"""The runner for PyTorch modules."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from polycmp.errors import BackendError, PolycmpError, describe_exception
from polycmp.loader import Loader, resolve
from polycmp.runner import Runner, overflow_remark
from polycmp.tensors import TensorMetadata, dtype_class, to_numpy
from polycmp_torch.compiled import compile_arguments, draws, unasked
from polycmp_torch.float64 import in_float64
from polycmp_torch.gradients import can_record, gradients_of
from polycmp_torch.inside import TorchPart
from polycmp_torch.model import TorchFromOnnx, TorchFromScript, TorchModel, import_torch
from polycmp_torch.options import Options
from polycmp_torch.unwritten import find_unwritten
from polycmp_torch.values import OwnedMemory, flatten, is_changed, to_torch

if TYPE_CHECKING:
    from polycmp.spec import ModelHandle


class TorchRunner(Runner):
    """Runs a module in PyTorch, by default without gradients.

    Args:
        model: A `TorchModel`, or a callable that returns one, such as `TorchFromFile`.
        name: The label in reports.
        options: Device, type, compilation, gradients and threads.
    """

    outputs_stay_valid = True
    #: Whether a run without gradients is one in inference mode.
    _in_inference_mode: ClassVar[bool] = True

    def __init__(self, model: Any, name: str = "", options: Options | None = None) -> None:
        super().__init__(name)
        self._source = model
        self._options = options or Options()
        self._model: TorchModel | None = None

    def activate_impl(self) -> None:
        """Load the module and bring it to its device and type.

        Raises:
            BackendError: There is no such device, or the module cannot go there.
            PolycmpError: The loader's errors.
        """
        self._torch = import_torch()
        model: TorchModel = resolve(self._source)
        options = self._options
        self._dtype = getattr(self._torch, options.dtype) if options.dtype else None
        module = model.module
        try:
            if hasattr(module, "to"):
                module = module.to(options.device)
                module = module if self._dtype is None else module.to(self._dtype)
            else:
                self._torch.empty(0, device=options.device)
            self._call = self._torch.compile(module, **compile_arguments(options)) if options.compile else module
        except Exception as error:
            raise BackendError(
                f"the module cannot be brought to {options.device} {options.dtype}".rstrip(),
                whose=self.name,
                why=_reason(error),
                hint="-b torch:device=cpu",
            ) from error
        self.backend_version = str(self._torch.__version__)
        self.notes = [model.note] if model.note else []
        self._weights = [*module.parameters(), *module.buffers()] if hasattr(module, "parameters") else []
        self._parameters = dict(module.named_parameters()) if hasattr(module, "named_parameters") else {}
        buffers = module.named_buffers() if hasattr(module, "named_buffers") else ()
        lazy = self._torch.nn.parameter.UninitializedBuffer  # has no numbers before the first call
        self._held = {name: buffer.detach().clone() for name, buffer in buffers if not isinstance(buffer, lazy)}
        self._contiguous, self._draws = True, False
        self._module: Any = module
        self._overflows = False
        self._first: tuple[list[Any], dict[str, Any]] | None = None
        self._model = model

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the inputs; types and shapes are unknown where the module does not say them."""
        assert self._model is not None
        return self._model.inputs

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return the tensors that the module returns.

        Raises:
            BackendError: The module failed, or returned something else than tensors.
        """
        assert self._model is not None
        torch, options, device = self._torch, self._options, self._options.device
        feed = {
            name: to_torch(torch, name, to_numpy(feed_dict[name]), device, self._dtype) for name in self._model.inputs
        }
        keywords = {name: feed[name] for name in self._model.keywords}
        places = [tensor for name, tensor in feed.items() if name not in keywords]
        self._contiguous = self._contiguous and all(tensor.is_contiguous() for tensor in feed.values())
        with_gradients = options.grad == "backward"
        leaves = (
            {name: leaf for name, leaf in {**feed, **self._parameters}.items() if can_record(leaf)}
            if with_gradients
            else {}
        )
        for leaf in leaves.values():
            leaf.requires_grad_()
        if options.compile and self._first is None:
            self._first = (
                [tensor.detach().clone() for tensor in places],
                {name: tensor.detach().clone() for name, tensor in keywords.items()},
            )
        recording, seeded = options.grad != "off", self._random_state()
        try:
            with (
                torch.inference_mode(self._in_inference_mode and not recording),
                torch.set_grad_enabled(recording),
                self._threads(),
            ):
                returned = list(flatten(self._call(*places, **keywords)))
                gradients = gradients_of(torch, [value for _, value in returned], leaves) if with_gradients else {}
        except PolycmpError:
            raise
        except Exception as error:
            raise BackendError("the module failed", whose=self.name, why=_reason(error)) from error
        self._draws = self._draws or not torch.equal(seeded, self._random_state())
        self._tell_state()
        if not self._overflows and not self._draws:
            self._tell_overflow(places, keywords, returned)
        memory = OwnedMemory([*feed.values(), *self._weights])
        outputs = {name: self._typed(name, memory.alone(value)) for name, value in self._named(returned)}
        return outputs | {f"{name}.grad": memory.alone(gradient) for name, gradient in gradients.items()}

    def _tell_overflow(self, places: list[Any], keywords: dict[str, Any], returned: list[tuple[str, Any]]) -> None:
        """Note where numbers are infinite or NaN that float64 makes finite."""
        kinds = {self._torch.float32, self._torch.float16, self._torch.bfloat16}
        if all(bool(tensor.isfinite().all()) for _, tensor in returned if tensor.dtype in kinds):
            return  # asked where the tensors are, which may be another device
        remark = overflow_remark(
            map(to_numpy, (*places, *keywords.values())),
            {name or "output": to_numpy(tensor) for name, tensor in returned},
            partial(in_float64, self._torch, self._module, places, keywords),
            "a compiler may leave out such a step, or keep it in a wider type",
        )
        self._overflows = remark is not None
        self.notes += [remark] if remark else []

    def _named(self, returned: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        assert self._model is not None
        names = self._model.outputs
        if not names:
            return [(f"output_{place}" if place.isdigit() else place or "output", value) for place, value in returned]
        if len(names) != len(returned):
            raise BackendError(
                f"the module returns {len(returned)} tensors, the model has {len(names)} outputs",
                whose=self.name,
                why=f"outputs are {', '.join(names)}",
                hint="return exactly the model's outputs, in this order",
            )
        return [(name, value) for name, (_, value) in zip(names, returned, strict=True)]

    def _typed(self, name: str, array: Any) -> Any:
        """Return an output in its declared type, unless the run is in float64."""
        assert self._model is not None
        declared = (self._model.types or {}).get(name)
        if self._options.dtype in {"", "float64"} or declared is None or dtype_class(declared) != "float":
            return array
        return array.astype(declared, copy=False)

    def _tell_state(self) -> None:
        """Note, after the first call, which buffers the module changed."""
        held, self._held = self._held, {}
        now = dict(self._module.named_buffers()) if held else {}
        kept = [repr(name) for name, value in held.items() if name in now and is_changed(value, now[name])]
        if kept:
            self.notes.append(
                f"the module keeps {', '.join(kept)} from one call to the next: it may answer otherwise to the same "
                "inputs, which a file without state cannot"
            )

    def _random_state(self) -> Any:
        """Return the state of the generator that the module's device draws from, which each draw moves."""
        if self._options.device.startswith("cuda"):
            return self._torch.cuda.get_rng_state(self._options.device)
        return self._torch.get_rng_state()

    @contextmanager
    def _threads(self) -> Iterator[None]:
        threads, before = self._options.threads, self._torch.get_num_threads()
        if threads is None:
            yield
            return
        self._torch.set_num_threads(threads)
        try:
            yield
        finally:
            self._torch.set_num_threads(before)

    def deactivate_impl(self) -> None:
        """Drop the module, and note random numbers, memory that nobody wrote, and which calls were not exercised."""
        if self._model is not None and self._draws:
            self.notes.append(draws(self._options))
        if self._model is not None and self._first is not None:
            self.notes += find_unwritten(self._torch, self._module, *self._first)
        if self._model is not None and (limits := unasked(self._options, self._contiguous)):
            self.notes.append(limits)
        if self._model is not None and self._options.compile:
            # Dynamo counts what it compiled of a module's code: without this, the ninth is left uncompiled, silently.
            self._torch.compiler.reset()
        self._model = self._call = self._module = self._first = None
        self._weights, self._parameters = [], {}


def _reason(error: Exception) -> str:
    """Return an error in one line; TorchScript writes its source lines and a trace before the reason."""
    text = describe_exception(error)
    return str(error).strip().splitlines()[-1].strip() if "Traceback of TorchScript" in text else text


def make_runner(model: ModelHandle, options: Options | None, *, name: str) -> TorchRunner:
    """Return the runner for a model of the command line.

    Args:
        model: The model handle.
        options: The backend's options.
        name: The label in reports.

    Raises:
        BackendError: A part of the model was asked for from a script that makes the whole.
    """
    options = options or Options()
    return TorchRunner(module_of(model, options, name), name, options)


def module_of(model: ModelHandle, options: Options, name: str) -> Loader[TorchModel]:
    """Return the loader of the module that runs.

    Args:
        model: The model handle.
        options: The backend's options.
        name: The label in reports.

    Raises:
        BackendError: A part of the model was asked for from a script that makes the whole.
    """
    if model.kind == "torch":
        return model.load("torch")
    source = model.load("onnx")
    if isinstance(source, TorchPart):
        return source
    if options.script is None:
        return TorchFromOnnx(source)
    if source.exact_file() is None:
        raise BackendError(
            f"{options.script} makes the whole module, but a part or a changed form of the model was requested",
            whose=name,
            hint="leave out options that change the ONNX model; polycmp locate compares the tensors inside",
        )
    return TorchFromScript(options.script, source)
