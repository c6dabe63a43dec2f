"""JSON as Polygraphy writes it: objects marked with their class, arrays as base64 of `.npy` bytes.

An array is `{"array": BASE64, "polygraphy_class": "ndarray"}`. Two things go beyond the common format, and both are
refused rather than misread by other readers: an element type that NumPy lacks is stored as opaque bytes (`V1`, `V2`)
with its name under the extra key `polycmp_dtype`; text that NumPy's fixed-width strings would change is stored the
same way, with its shape under `polycmp_shape`.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.errors import FileError, describe_exception, did_you_mean
from polycmp.results import STRING, IterationResult, pack, read_npy_header, texts_as_objects, unpack
from polycmp.tensors import to_numpy

CLASS = "polygraphy_class"
_OLD_PREFIX = "__polygraphy_encoded_"
_OLD_VALUE = "polygraphy_serialized_json_type"
_OLD_STARTS = ("\x93NUMPY", "PK\x03\x04")  # the first versions wrote arrays without base64
_CHUNK = 3 << 20  # bytes of an array per piece of base64; a multiple of 3, so that pieces join without padding
#: Wider text than this per element is not worth NumPy's fixed width.
_TEXT_LIMIT = 1 << 12

#: Classes of files that are read another way, and which.
_OF_OTHER_READERS: Mapping[str, str] = dict.fromkeys(
    ("TacticReplayData", "Algorithm", "TensorInfo"),
    "in Python polycmp_trt.TacticReplayData.load(FILE), on the command line polycmp inspect tactics FILE",
)

Decoder = Callable[[Mapping[str, Any]], Any]


def encode(value: Any) -> Iterator[bytes]:
    """Give the JSON text of a value piece by piece, so that large arrays never exist as text as a whole.

    Understands what JSON has, arrays, NumPy scalars, mappings, sequences, and objects with `to_json_object()`, which
    returns a mapping.

    Raises:
        FileError: Something in it has no form in JSON.
    """
    if isinstance(value, IterationResult):
        value = _iteration(value)
    elif hasattr(value, "to_json_object"):
        value = value.to_json_object()
    if isinstance(value, Mapping):
        yield from _encode_mapping(value)
    elif isinstance(value, list | tuple):
        opening = b"["
        for item in value:
            yield opening
            yield from encode(item)
            opening = b", "
        yield b"]" if value else b"[]"
    elif isinstance(value, np.generic):
        yield json.dumps(value.item()).encode("ascii")
    elif hasattr(value, "dtype") and hasattr(value, "shape"):
        yield from encode_array("", value)
    else:
        try:
            yield json.dumps(value).encode("ascii")
        except (TypeError, ValueError) as error:
            raise FileError(f"cannot save a {type(value).__name__} as JSON", why=str(error)) from error


def _iteration(value: IterationResult) -> dict[str, Any]:
    """Return the members that Polygraphy's readers expect of one iteration."""
    return {
        "outputs": {name: {"values": to_numpy(array), CLASS: "LazyArray"} for name, array in value.items()},
        "runtime": None if value.runtime is None else float(value.runtime),
        "runner_name": value.runner_name,
        **members_beside(value),
        CLASS: "IterationResult",
    }


def members_beside(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of an iteration beside its outputs: which of them do not move, and where they were made."""
    names, environment = getattr(outputs, "insensitive", ()), getattr(outputs, "environment", {})
    return {
        **({"insensitive": list(names)} if names else {}),
        **({"environment": dict(environment)} if environment else {}),
    }


def read_beside(iteration: IterationResult, members: Mapping[str, Any]) -> IterationResult:
    """Set what `members_beside` returned of an iteration, and return the iteration.

    Raises:
        TypeError: A member is of the wrong kind.
    """
    iteration.insensitive = insensitive_of(members, iteration)
    environment = members.get("environment", {})
    if not isinstance(environment, dict) or not all(isinstance(value, str) for value in environment.values()):
        raise TypeError("the environment is not a table of texts")
    iteration.environment = environment
    return iteration


def insensitive_of(members: Mapping[str, Any], outputs: Iterable[str]) -> tuple[str, ...]:
    """Return the names of an iteration's outputs that do not move; `true` in files of before means all.

    Raises:
        TypeError: The member is of the wrong kind.
    """
    insensitive = members.get("insensitive", [])
    if isinstance(insensitive, bool):
        insensitive = list(outputs) if insensitive else []
    if not isinstance(insensitive, list) or not all(isinstance(name, str) for name in insensitive):
        raise TypeError("the names of what does not move are not text")
    return tuple(insensitive)


def decode_iteration(members: Mapping[str, Any]) -> IterationResult:
    """Make one iteration from decoded members.

    Raises:
        TypeError: A member is of the wrong kind.
    """
    outputs = members["outputs"]
    if not isinstance(outputs, dict) or not all(hasattr(array, "dtype") for array in outputs.values()):
        raise TypeError("the outputs are not arrays by name")
    runtime = members.get("runtime")
    iteration = IterationResult(outputs, None if runtime is None else float(runtime), members.get("runner_name"))
    return read_beside(iteration, members)


def _encode_mapping(value: Mapping[Any, Any]) -> Iterator[bytes]:
    opening = b"{"
    for key, item in value.items():
        yield opening + json.dumps(str(key)).encode("ascii") + b": "
        if hasattr(item, "dtype") and hasattr(item, "shape") and not isinstance(item, np.generic):
            yield from encode_array(str(key), item)
        else:
            yield from encode(item)
        opening = b", "
    yield b"}" if value else b"{}"


def encode_array(name: str, value: Any) -> Iterator[bytes]:
    """Give the JSON text of one array, as base64 of exactly what `numpy.save` would write.

    Args:
        name: The tensor's name, for the error.
        value: An array, or anything that `to_numpy` takes.
    """
    array = to_numpy(value)
    extra: dict[str, Any] = {}
    text = _fixed_width(array) if array.dtype.kind in "OU" else None
    if text is not None:
        array = text
    else:
        shape = array.shape
        array, dtype = pack(name, array)
        if dtype:
            array = array.view(np.dtype(f"V{array.dtype.itemsize}"))
            extra = {"polycmp_dtype": dtype, **({"polycmp_shape": list(shape)} if dtype == STRING else {})}
    yield b'{"array": "'
    yield from _base64_npy(array)
    yield b'", '
    for key, item in extra.items():
        yield json.dumps(key).encode("ascii") + b": " + json.dumps(item).encode("ascii") + b", "
    yield b'"polygraphy_class": "ndarray"}'


def _fixed_width(array: NDArray[Any]) -> NDArray[Any] | None:
    items = array.ravel().tolist()
    if not all(isinstance(item, str) and not item.endswith("\0") for item in items):
        return None
    if max((len(item) for item in items), default=0) > _TEXT_LIMIT:
        return None
    try:
        "".join(items).encode("utf-8")  # lone surrogates have no place in fixed-width text
    except UnicodeEncodeError:
        return None
    return np.asarray(array, dtype=str)


def _base64_npy(array: NDArray[Any]) -> Iterator[bytes]:
    contiguous = np.asarray(array, order="C")
    header = io.BytesIO()
    description = np.lib.format.header_data_from_array_1_0(contiguous)
    np.lib.format.write_array_header_1_0(header, description)
    raw = contiguous.reshape(-1).view(np.uint8).data if contiguous.nbytes else memoryview(b"")
    first = (-len(header.getvalue())) % 3
    yield base64.b64encode(header.getvalue() + bytes(raw[:first]))
    for start in range(first, len(raw), _CHUNK):
        yield base64.b64encode(raw[start : start + _CHUNK])


def decode_file(path: Path, classes: Mapping[str, Decoder]) -> Any:
    """Return the objects in a JSON file, as `decode` does.

    Raises:
        FileError: The content is not JSON, or an object in it is damaged or of an unknown class.
        OSError: The file cannot be read.
    """
    try:
        raw = path.read_bytes()
        text = raw.decode("ascii" if raw.isascii() else "utf-8-sig")  # plain ASCII is by far the fastest
        del raw
    except UnicodeDecodeError as error:
        raise FileError("this is not JSON", why=describe_exception(error)) from error
    return decode(text, classes)


def decode(text: bytes | str, classes: Mapping[str, Decoder]) -> Any:
    """Return the objects that a JSON text describes.

    Args:
        text: The JSON text.
        classes: By class mark, the function that makes an object of its members; arrays and tensors are known already.

    Raises:
        FileError: The text is not JSON, or an object in it is damaged or of an unknown class.
    """
    known = {**_ARRAY_CLASSES, **classes}
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _decode_object(dict(pairs), known))
    except (ValueError, RecursionError) as error:
        raise FileError("this is not JSON, or only a part of it", why=describe_exception(error)) from error


def _decode_object(members: dict[str, Any], known: Mapping[str, Decoder]) -> Any:
    key = CLASS if isinstance(members.get(CLASS), str) else _old_marker(members)
    if key is None:
        return members
    marker = members.pop(key)
    name = marker if key == CLASS else key.removeprefix(_OLD_PREFIX)
    if name in _OF_OTHER_READERS and name not in known:
        raise FileError(f"it holds an object of the class {name!r}", hint=_OF_OTHER_READERS[name])
    if name not in known:
        raise FileError(f"it holds an object of the unknown class {name!r}", why=did_you_mean(name, known))
    try:
        return known[name](members)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise FileError(f"an object of class {name!r} in it is damaged", why=describe_exception(error)) from error


def _old_marker(members: Mapping[str, Any]) -> str | None:
    for key, value in members.items():
        if key.startswith(_OLD_PREFIX) and isinstance(value, str) and value == _OLD_VALUE:
            return key
    return None


def _decode_array(members: Mapping[str, Any]) -> NDArray[Any]:
    text = members["array"]
    raw = text.encode("latin-1") if text.startswith(_OLD_STARTS) else _from_base64(text)
    if raw[:2] == b"PK":
        archive = np.load(io.BytesIO(raw), allow_pickle=False)
        return texts_as_objects(np.asarray(archive[archive.files[0]]))
    array = array_from_npy(raw)
    dtype = members.get("polycmp_dtype", "")
    if not dtype:
        return texts_as_objects(array)
    plain = array.view(np.dtype(f"u{array.dtype.itemsize}"))
    return unpack(plain, dtype, members.get("polycmp_shape", array.shape))


def _from_base64(text: str) -> bytes:
    raw = binascii.a2b_base64(text)  # skips what is no base64, so the length must tell
    if len(raw) != len(text) // 4 * 3 - text[-2:].count("="):
        raise ValueError("the base64 text has invalid characters")
    return raw


def array_from_npy(raw: bytes) -> NDArray[Any]:
    """Return the array in the bytes of a `.npy` file, as a writable copy.

    Raises:
        ValueError: The bytes are something else, or too few.
    """
    stream = io.BytesIO(raw)
    shape, fortran_order, dtype = read_npy_header(stream)
    count = int(np.prod(shape, dtype=np.int64))
    if dtype.itemsize == 0 or count == 0:
        return np.empty(shape, dtype)
    flat: NDArray[Any] = np.frombuffer(raw, dtype, count, stream.tell())
    return np.array(flat.reshape(shape, order="F" if fortran_order else "C"), order="K")


def _decode_tensor(members: Mapping[str, Any]) -> Any:
    try:
        import torch
    except ImportError as error:
        raise FileError(
            "it holds a PyTorch tensor, and PyTorch is not installed", why=str(error), hint="pip install torch"
        ) from error
    return torch.load(io.BytesIO(_from_base64(members["tensor"])), weights_only=True)


def _decode_values(members: Mapping[str, Any]) -> Any:
    return members["values"]


_ARRAY_CLASSES: dict[str, Decoder] = {
    "ndarray": _decode_array,
    "Tensor": _decode_tensor,
    "LazyArray": _decode_values,
    "LazyNumpyArray": _decode_values,
}
