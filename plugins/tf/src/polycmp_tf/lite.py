"""LiteRT (TensorFlow Lite) models."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polycmp.errors import ModelError, PluginError, describe_exception
from polycmp.runner import usable_cores
from polycmp.tensors import TensorMetadata

if TYPE_CHECKING:
    from polycmp_tf.plugin import Options

#: Ends a file that holds a part of a model: before it stand what describes the part, as JSON, and its length. LiteRT
#: reads no further than the model, which is why other files have their labels there.
_PART = b"polycmp part"
_LENGTH_BYTES = 8
#: Types of codes, which stand for real numbers where a tensor has one scale.
CODES = frozenset(map(np.dtype, ("int8", "uint8", "int16")))


def import_schema() -> Any:
    """Return the module of LiteRT with the format's schema.

    Raises:
        PluginError: LiteRT is not installed.
    """
    try:
        from ai_edge_litert import schema_py_generated
    except ImportError as error:
        raise _not_installed(error) from error
    return schema_py_generated


def interpreter(kernels: str, threads: int | None, **source: Any) -> tuple[Any, str]:
    """Return an interpreter with certain kernels, and its version.

    Raises:
        PluginError: LiteRT is not installed.
    """
    try:
        import ai_edge_litert
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
    except ImportError as error:
        raise _not_installed(error) from error
    resolver = {
        "builtin": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES, "reference": OpResolverType.BUILTIN_REF,
    }.get(kernels, OpResolverType.AUTO)  # fmt: skip
    version = f"LiteRT {getattr(ai_edge_litert, '__version__', '')}".strip()
    threads = threads or usable_cores()
    return Interpreter(num_threads=threads, experimental_op_resolver_type=resolver, **source), version


def _not_installed(error: ImportError) -> PluginError:
    return PluginError(
        "needs LiteRT to run .tflite files", whose="tf", why=str(error), hint="pip install 'polycmp-tf[lite]'"
    )


class LiteModel:
    """A `.tflite` file in an interpreter.

    Args:
        path: The file.
        signature: Name of the signature to run, where there are several.
        threads: Number of threads; None for all cores that this process may use.
        kernels: `xnnpack`, `builtin` or `reference`.
        dequantize: Whether inputs and outputs that are codes are taken and given as the real numbers they stand for.

    Attributes:
        inputs: The inputs by their names in the signature, else by their tensors' names.
        outputs: The outputs, named likewise.
        version: The interpreter's version.
        notes: What readers should know of inputs and outputs that are codes.

    Raises:
        PluginError: No interpreter is installed.
        ModelError: The file is no LiteRT model, or has no such signature.
    """

    def __init__(
        self, path: str, signature: str, threads: int | None, kernels: str = "xnnpack", *, dequantize: bool = False
    ) -> None:
        try:
            self._lite, self.version = interpreter(kernels, threads, model_path=path)
            signatures = self._lite.get_signature_list() or {}
        except PluginError:
            raise
        except Exception as error:
            raise ModelError(f"{path} is not a LiteRT model", whose="tf", why=describe_exception(error)) from error
        self._signature = self._choose(path, signature, list(signatures))
        self._dequantizes = dequantize
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
        codes = {
            name: LitePort(name, found)
            for name, item in {**self._input_details, **self._output_details}.items()
            if (found := _codes_of(item)) is not None
        }
        self.notes = [] if self._dequantizes else [_of_codes(port) for port in codes.values()]
        self._ports = codes if self._dequantizes else {}
        for metadata in (self.inputs, self.outputs):
            for name in metadata.keys() & self._ports.keys():
                metadata.add(name, np.float32, metadata[name].shape)

    def run(self, feed: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs for one feed; an input of another shape makes the interpreter plan anew."""
        fed = {
            name: self._ports[name].inwards(array, self._input_details[name]["dtype"]) if name in self._ports else array
            for name, array in feed.items()
        }
        return {
            name: self._ports[name].outwards(array) if name in self._ports else array
            for name, array in self._run(fed).items()
        }

    def _run(self, feed: dict[str, Any]) -> dict[str, Any]:
        if self._signature is not None:
            return dict(self._signature(**feed))
        _invoke(self._lite, {item["index"]: feed[name] for name, item in self._input_details.items()})
        return {name: self._lite.get_tensor(item["index"]) for name, item in self._output_details.items()}


def _invoke(lite: Any, arrays: Mapping[int, Any]) -> None:
    """Have an interpreter calculate with arrays, by the places of its inputs."""
    for place, array in arrays.items():
        lite.resize_tensor_input(place, array.shape)
    lite.allocate_tensors()
    for place, array in arrays.items():
        lite.set_tensor(place, array)
    lite.invoke()


def moves(name: str, rank: int, transposed: Sequence[str]) -> bool:
    """Return whether a tensor has its channels last in the model and second in the run.

    Args:
        name: The tensor.
        rank: Number of its dimensions.
        transposed: Names of those that do; `*` for all.
    """
    return rank >= 3 and ("*" in transposed or name in transposed)


class LitePort(NamedTuple):
    """A tensor that goes into a part of a model, or comes out of it.

    Attributes:
        tensor: What tells which tensor of the part it is.
        codes: Scale and zero point where the part has codes and numbers are meant; None otherwise.
    """

    tensor: Hashable
    codes: tuple[Any, int] | None

    def inwards(self, array: Any, dtype: Any) -> Any:
        """Return what the part is fed."""
        if self.codes is None:
            return array
        (scale, zero), ends = self.codes, np.iinfo(dtype)
        return np.clip(np.rint(array / scale) + zero, ends.min, ends.max).astype(dtype)

    def outwards(self, array: Any) -> Any:
        """Return what is seen of a tensor of the part."""
        if self.codes is None:
            return array
        scale, zero = self.codes
        return (array.astype(np.float32) - np.float32(zero)) * scale


def _codes_of(item: Mapping[str, Any]) -> tuple[Any, int] | None:
    """Return scale and zero point of a tensor that an interpreter describes, where it holds codes; None of others."""
    scale, zero = item.get("quantization") or (0.0, 0)
    return (np.float32(scale), int(zero)) if scale and np.dtype(item["dtype"]) in CODES else None


def _of_codes(port: LitePort) -> str:
    """Say what an input or output that is codes stands for, and how to compare that."""
    assert port.codes is not None
    scale, zero = port.codes
    shifted = f"({port.tensor} {'-' if zero > 0 else '+'} {abs(zero)})" if zero else f"{port.tensor}"
    return (
        f"{port.tensor!r} holds codes of real numbers, {shifted} * {scale:.6g}: with the option dequantize, as in "
        "-b tf:dequantize, these are taken and compared"
    )


class LitePart:
    """A part of a LiteRT model, in an interpreter of its own.

    Args:
        content: The part as a `.tflite` file.
        inputs: Types and shapes of what is fed.
        outputs: Names of what it makes.
        ports: What is known of all of them, by name.
        options: Kernels, threads and layouts of the run.

    Attributes:
        inputs: Types and shapes of what is fed, as the model has them: the runner brings them there.
        version: The interpreter's version.
        notes: What readers should know of it.

    Raises:
        ModelError: LiteRT cannot run the part.
    """

    def __init__(
        self,
        content: bytes,
        inputs: TensorMetadata,
        outputs: tuple[str, ...],
        ports: Mapping[str, LitePort],
        options: Options,
    ) -> None:
        back = {other: name for name, other in options.rename.items()}
        self.notes: list[str] = []
        self._names = {name: back.get(name, name) for name in (*inputs, *outputs)}
        self._input_ports = [ports[name] for name in inputs]
        self._output_ports = {self._names[name]: ports[name] for name in outputs}
        self.inputs = TensorMetadata()
        for name, entry in inputs.items():
            shape = entry.shape
            if shape is not None and moves(name, len(shape), options.nchw):
                shape = (shape[0], *shape[2:], shape[1])
            self.inputs.add(self._names[name], entry.dtype, shape)
        try:
            self._lite, self.version = interpreter(options.kernels, options.threads, model_content=content)
        except ValueError as error:
            raise ModelError(
                "LiteRT cannot run a part of the model", whose="tf", why=describe_exception(error).splitlines()[0]
            ) from error

    def run(self, feed: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs for one feed."""
        details = self._lite.get_input_details()
        ports = list(zip(self._input_ports, feed.values(), details, strict=True))
        fed = {port.tensor: port.inwards(array, item["dtype"]) for port, array, item in ports}
        _invoke(self._lite, {item["index"]: fed[port.tensor] for port, _, item in ports})
        arrays = iter([self._lite.get_tensor(item["index"]) for item in self._lite.get_output_details()])
        return {
            name: port.outwards(fed[port.tensor] if port.tensor in fed else next(arrays))
            for name, port in self._output_ports.items()
        }


def write_part(
    path: str, content: bytes, inputs: TensorMetadata, outputs: tuple[str, ...], ports: Mapping[str, LitePort]
) -> None:
    """Write a part of a model that another process can run; arguments as of `LitePart`."""
    description = {
        "inputs": [[name, np.dtype(entry.dtype).name, entry.shape] for name, entry in inputs.items()],
        "outputs": outputs,
        "ports": {
            name: [port.tensor, port.codes and [float(port.codes[0]), port.codes[1]]] for name, port in ports.items()
        },
    }
    text = json.dumps(description).encode()
    Path(path).write_bytes(content + text + len(text).to_bytes(_LENGTH_BYTES, "little") + _PART)


def read_part(path: str, options: Options) -> LitePart | None:
    """Return the part of a model that a file holds; None if it holds a whole one."""
    with Path(path).open("rb") as file:
        file.seek(0, 2)
        end = file.tell() - len(_PART) - _LENGTH_BYTES
        if end < 0:
            return None
        file.seek(end)
        length, mark = int.from_bytes(file.read(_LENGTH_BYTES), "little"), file.read()
        if mark != _PART:
            return None
        file.seek(0)
        content, description = file.read(end - length), json.loads(file.read(length))
    inputs = TensorMetadata()
    for name, dtype, shape in description["inputs"]:
        inputs.add(name, dtype, shape)
    ports = {
        name: LitePort(tuple(tensor), (np.float32(codes[0]), codes[1]) if codes else None)
        for name, (tensor, codes) in description["ports"].items()
    }
    return LitePart(content, inputs, tuple(description["outputs"]), ports, options)


def _metadata(details: Mapping[str, Any]) -> TensorMetadata:
    """Return the types and declared shapes of tensors that an interpreter describes."""
    metadata = TensorMetadata()
    for name, item in details.items():
        known = item.get("shape_signature")
        shape = item["shape"] if known is None or len(known) == 0 else known
        metadata.add(name, item["dtype"], [int(dim) for dim in shape])
    return metadata
