"""The runner for models that OpenVINO compiles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from polycmp.errors import BackendError, UsageError
from polycmp.loader import resolve
from polycmp.runner import Runner, usable_cores
from polycmp.tensors import Shape, TensorMetadata, to_numpy
from polycmp_openvino.arrays import element_type, from_tensor, to_tensor
from polycmp_openvino.model import OpenvinoModel, ReadModel, import_openvino
from polycmp_openvino.plugin import OPTIMIZATIONS, Options
from polycmp_openvino.reasons import compiling_failed, no_device, running_failed, shorten

if TYPE_CHECKING:
    from polycmp.spec import ModelHandle

#: Devices that hand the work on to others.
_VIRTUAL = ("AUTO", "HETERO", "BATCH")
_TYPE_NAMES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}


class OpenvinoRunner(Runner):
    """Runs a model in OpenVINO.

    Args:
        model: The model, as `OpenvinoModel` makes it, or anything that it takes.
        name: The label in reports.
        options: Device, precision and the like; by default the CPU in the model's own types.
    """

    outputs_stay_valid = True

    def __init__(self, model: Any, name: str = "", options: Options | None = None) -> None:
        super().__init__(name)
        self._source = model
        self._options = options or Options()
        self._request: Any = None

    def activate_impl(self) -> None:
        """Read and compile the model.

        Raises:
            PluginError: There is no such device here.
            BackendError: The device cannot compile the model, or an input or output is no tensor.
            ModelError: The model cannot be read.
        """
        self._ov = import_openvino()
        source = self._source if isinstance(self._source, (OpenvinoModel, ReadModel)) else OpenvinoModel(self._source)
        read: ReadModel = resolve(source)
        core = read.core or self._ov.Core()
        self._check_device(core)
        self._describe(read)
        compiled = self._compile(core, read.model)
        self.backend_version = str(self._ov.__version__).partition("-")[0]
        self.notes = [*_notes(compiled, self._options), *_half_weights(read.model)]
        self._request = compiled.create_infer_request()

    def _check_device(self, core: Any) -> None:
        device = self._options.device
        available = list(core.available_devices)
        head = device.partition(":")[0].partition(".")[0].upper()
        if head in _VIRTUAL:
            return
        if not any(name == device.upper() or name.partition(".")[0] == device.upper() for name in available):
            raise no_device(device, available, whose=self.name)

    def _describe(self, read: ReadModel) -> None:
        model = read.model
        ports = dict(zip(_input_names(model.inputs, read.shapes), model.inputs, strict=True))
        self._inputs_read = {
            name: (port.get_element_type(), _shape(port, read.shapes.get(name))) for name, port in ports.items()
        }
        self._declared = {name: self._dtype("input", name, kind) for name, (kind, _) in self._inputs_read.items()}
        names = read.outputs if len(read.outputs) == len(model.outputs) else [_name(port) for port in model.outputs]
        self._outputs = [
            (name, self._dtype("output", name, port.get_element_type()))
            for name, port in zip(names, model.outputs, strict=True)
        ]

    def _dtype(self, role: str, name: str, kind: Any) -> Any:
        try:
            return element_type(kind)
        except BackendError as error:
            raise BackendError(f"{role} {name!r} {error.what}", whose=self.name, hint=error.hint) from error

    def _compile(self, core: Any, model: Any) -> Any:
        device = self._options.device
        try:
            return core.compile_model(model, device, properties(self._options))
        except Exception as error:
            text = str(error)
            if "Unsupported property" in text or "property was not found" in text:
                raise UsageError(
                    "OpenVINO refuses a property", whose=self.name, why=shorten(text), hint="see -b openvino:config"
                ) from error
            raise compiling_failed(error, device, whose=self.name) from error

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the inputs, with the names that the ONNX file gives to open dimensions."""
        metadata = TensorMetadata()
        for name, (_, shape) in self._inputs_read.items():
            metadata.add(name, self._declared[name], shape)
        return metadata

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs; they are copies, which live as long as they are referenced.

        Raises:
            BackendError: OpenVINO failed.
        """
        feed = {
            at: to_tensor(self._ov, to_numpy(feed_dict[name]), kind)
            for at, (name, (kind, _)) in enumerate(self._inputs_read.items())
        }
        try:
            self._request.infer(feed, share_inputs=True, share_outputs=True)
            return {name: self._output(at, dtype) for at, (name, dtype) in enumerate(self._outputs)}
        except Exception as error:
            raise running_failed(error, whose=self.name) from error

    def _output(self, at: int, dtype: Any) -> Any:
        tensor = self._request.get_output_tensor(at)
        return from_tensor(tensor.data.copy(), dtype, tuple(tensor.shape))

    def deactivate_impl(self) -> None:
        """Let the compiled model go."""
        self._request = None


def properties(options: Options) -> dict[str, Any]:
    """Return the options as OpenVINO's properties, by its names.

    Args:
        options: The backend's options.
    """
    found: dict[str, Any] = {}
    head = options.device.partition(":")[0].partition(".")[0].upper()
    if not options.own_precision:
        found["EXECUTION_MODE_HINT"] = "ACCURACY"
    if options.precision:
        found["INFERENCE_PRECISION_HINT"] = _TYPE_NAMES[options.precision]
    if options.hint:
        found["PERFORMANCE_HINT"] = options.hint.upper()
    if options.threads or head == "CPU":
        found["INFERENCE_NUM_THREADS"] = options.threads or usable_cores()
    if options.streams:
        found["NUM_STREAMS"] = str(options.streams)
    if options.cache_dir is not None:
        found["CACHE_DIR"] = options.cache_dir
    found.update(OPTIMIZATIONS[name] for name in options.disable)
    return {**found, **options.config}


def _input_names(ports: Iterable[Any], declared: Iterable[str]) -> list[str]:
    """Return the names of the inputs in the order of the ports.

    OpenVINO gives an input the name of an output where it has dropped all that lay between (Dropout); such an input
    is one of the declared names that no port has.
    """
    known = list(declared)
    names = [next((name for name in sorted(port.get_names()) if name in known), _name(port)) for port in ports]
    missing = (name for name in known if name not in names)
    return [name if not known or name in known else next(missing, name) for name in names]


def _name(port: Any) -> str:
    """Return the name of an input or output: of several the one that sorts first, so that it is the same each time."""
    names = sorted(port.get_names())
    return names[0] if names else str(port.get_node().get_friendly_name())


def _shape(port: Any, known: Shape | None) -> Shape | None:
    """Return an input's shape: the size that OpenVINO knows, else the ONNX file's name for the dimension."""
    partial = port.get_partial_shape()
    if partial.rank.is_dynamic:
        return None
    names = known if known is not None and len(known) == len(partial) else (-1,) * len(partial)
    return tuple(
        dim.get_length() if dim.is_static else (name if isinstance(name, str) else -1)
        for dim, name in zip(partial, names, strict=True)
    )


def _notes(compiled: Any, options: Options) -> list[str]:
    """Return notes on OpenVINO's own choices: the inference precision, and the devices of AUTO."""
    notes: list[str] = []
    try:
        kind = compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
        devices = list(compiled.get_property("EXECUTION_DEVICES"))
    except Exception:  # noqa: BLE001  a device need not know these properties
        return notes
    if options.own_precision and kind in {"f16", "bf16"}:
        notes.append(f"OpenVINO chose to calculate in {kind}")
    if devices and options.device.upper() not in {name.upper() for name in devices}:
        notes.append(f"runs on {', '.join(devices)}")
    return notes


def _half_weights(model: Any) -> list[str]:
    """Return a note on weights that a file holds in float16 although the model calculates in a finer type.

    Args:
        model: The `openvino.Model`.
    """
    constants = [node for node in model.get_ops() if node.get_type_name() == "Constant"]
    halves = [node for node in constants if node.get_element_type().get_type_name() == "f16" and _is_widened(node)]
    if not halves:
        return []
    what = "1 weight" if len(halves) == 1 else f"{len(halves)} weights"
    return [
        f"the file holds {what} in float16, rounded once to that type and widened again: openvino.save_model writes "
        "them so unless it is told compress_to_fp16=False"
    ]


def _is_widened(constant: Any) -> bool:
    readers = [port.get_node() for port in constant.output(0).get_target_inputs()]
    return bool(readers) and all(
        node.get_type_name() == "Convert" and node.get_element_type().get_type_name() in {"f32", "f64"}
        for node in readers
    )


def make_runner(model: ModelHandle, options: Options | None, *, name: str) -> OpenvinoRunner:
    """Return the runner for a model of the command line.

    Args:
        model: The model handle.
        options: The backend's options.
        name: The label in reports.
    """
    kind = "openvino-ir" if model.kind == "openvino-ir" else "onnx"
    loader = model.load(kind)
    return OpenvinoRunner(
        loader if isinstance(loader, OpenvinoModel) else OpenvinoModel(loader), name, options or Options()
    )
