"""`.safetensors` files, with the package of that name, an extra of this one.

The format lists its tensors before their data, so a file in the making is kept in memory; large runs belong in an
`.npz` or a folder. What polycmp must know besides the tensors is in the metadata under `polycmp`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from polycmp.builtin.formats.manifest import Manifest, stored_from_arrays, stored_from_manifest
from polycmp.builtin.formats.openfile import OpenFile
from polycmp.errors import FileError, describe_exception
from polycmp.files import natural_order
from polycmp.options import parse_json
from polycmp.results import Stored
from polycmp.tensors import as_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KEY = "polycmp"
#: The format's own names of element types -> ours.
_DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "BOOL": "bool",
    "C64": "complex64",
    **{f"I{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"U{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
}
#: Types that every supported version of the package writes under their own name; others are written as bytes.
_PORTABLE = {
    "float64",
    "float32",
    "float16",
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
}


class SafetensorsWriter:
    """Collects iterations and writes them at the end.

    Args:
        file: The file to write to.
        kind: `inputs` or `outputs`.
        path: The file to write.
    """

    def __init__(self, file: BinaryIO, kind: str, path: Path) -> None:
        del path
        self._file = file
        self._manifest = Manifest(kind)
        self._tensors: dict[str, NDArray[Any]] = {}

    def add(self, label: str, arrays: Mapping[str, Any], runtime: float | None) -> None:
        """Copy one iteration."""
        for entry, array in self._manifest.add(label, arrays, runtime):
            self._tensors[entry] = np.array(array, dtype=array.dtype.newbyteorder("="), order="C", copy=True)
        for listed in self._manifest.last_tensors():
            entry = listed["entry"]
            tensor = self._tensors[entry]
            if listed.get("dtype") == "bfloat16":
                self._tensors[entry] = tensor.view(as_dtype("bfloat16"))
            elif tensor.dtype.name not in _PORTABLE:
                listed.update(dtype=tensor.dtype.name, shape=list(tensor.shape))
                self._tensors[entry] = tensor.reshape(-1).view(np.uint8)

    def finish(self) -> None:
        """Write the file."""
        from safetensors import SafetensorError
        from safetensors.numpy import save

        try:
            self._file.write(save(self._tensors, metadata={_KEY: self._manifest.to_json()}))
        except (SafetensorError, ValueError, KeyError) as error:
            raise FileError("safetensors refuses these tensors", why=describe_exception(error)) from error

    def discard(self) -> None:
        """Let go of the tensors."""
        self._tensors.clear()


def read_safetensors(path: Path) -> Stored:
    """Open a `.safetensors` file without reading its tensors.

    A file that another program wrote is one iteration of all its tensors, in the order of the numbers in their names:
    the format keeps none, and a dump of a decoder is read as `round_2.layer_9`, `round_2.layer_10`, `round_10.layer_0`.

    Raises:
        FileError: It is no such file, or damaged.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as opened:  # checks that the header fits the file
            names = sorted(opened.keys(), key=natural_order)
    except SafetensorError as error:
        raise FileError(
            "this is not a safetensors file, or only a part of one", why=describe_exception(error)
        ) from error
    tensors = _Tensors(path)
    if _KEY in tensors.metadata:
        return stored_from_manifest(tensors.metadata[_KEY], tensors.read)
    return stored_from_arrays(names, path.stem, tensors.read)


class _Tensors:
    """A file whose header is read once, however many of its tensors are read.

    Attributes:
        metadata: The free text that the file holds besides its tensors.

    Raises:
        FileError: The header is no longer the one that was checked.
    """

    def __init__(self, path: Path) -> None:
        self._file = OpenFile(path)
        try:
            size = int.from_bytes(self._file.bytes_at(0, 8).tobytes(), "little")
            self._listed = parse_json(self._file.bytes_at(8, size).tobytes())
            self.metadata: dict[str, str] = self._listed.pop("__metadata__", None) or {}
        except (ValueError, AttributeError) as error:
            raise FileError("its header is damaged", why=describe_exception(error)) from error
        self._start = 8 + size

    def read(self, name: str) -> NDArray[Any]:
        """Return a tensor, read-only; the package itself would copy, and knows fewer types.

        Raises:
            FileError: There is none, or it is damaged.
        """
        try:
            listed = self._listed[name]
            begin, end = listed["data_offsets"]
            shape = tuple(int(dim) for dim in listed["shape"])
            dtype = as_dtype(_DTYPES[listed["dtype"]])
            if begin == end:
                return np.empty(shape, dtype)
            raw = self._file.bytes_at(self._start + begin, end - begin)
            if (self._start + begin) % dtype.alignment:
                raw = np.array(raw)
            return np.asarray(raw).view(dtype).reshape(shape)
        except (KeyError, ValueError, TypeError, OSError) as error:
            raise FileError(
                f"its tensor {name!r} cannot be read", whose=str(self._file.path), why=describe_exception(error)
            ) from error
