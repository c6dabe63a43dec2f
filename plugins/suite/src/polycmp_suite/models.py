"""What identifies a model: its digest, size, and the version of its operators, read without loading it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from polycmp.records import asdict, dataclass

_CHUNK = 1 << 20
#: Fields of ONNX's ModelProto and OperatorSetIdProto, as onnx.proto numbers them.
_OPSET_IMPORT, _DOMAIN, _VERSION = 8, 1, 2


@dataclass(frozen=True)
class ModelFacts:
    """What identifies a model.

    Attributes:
        sha256: The digest of its file.
        size: The file's size in bytes.
        opset: The version of ONNX's own operators; 0 for other kinds of model.
    """

    sha256: str
    size: int
    opset: int = 0

    @property
    def words(self) -> str:
        """All of it in a few words."""
        opset = f"opset {self.opset}, " if self.opset else ""
        return f"sha256 {self.sha256[:12]}, {opset}{_size(self.size)}"

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)


def _size(size: int) -> str:
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} B"


def facts_of(models: Iterable[str], folder: Path) -> dict[str, ModelFacts]:
    """Return what is known of models; those that are no files are left out."""
    found = {}
    for model in dict.fromkeys(models):
        path = folder / model
        if model and path.is_file():
            with suppress(OSError):
                found[model] = _facts(path)
    return found


def _facts(path: Path) -> ModelFacts:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    opset = 0
    if path.suffix == ".onnx":
        with path.open("rb") as file, suppress(ValueError):
            opset = _opset(file, path.stat().st_size)
    return ModelFacts(digest.hexdigest(), path.stat().st_size, opset)


def _opset(file: BinaryIO, end: int) -> int:
    """Return the version of ONNX's own operators; the graph, which holds the weights, is jumped over."""
    found = 0
    while file.tell() < end:
        number, kind = divmod(_varint(file), 8)
        if kind == 0:
            _varint(file)
        elif kind == 2:
            length = _varint(file)
            if number == _OPSET_IMPORT:
                domain, version = _opset_entry(file, file.tell() + length)
                found = version if domain in {b"", b"ai.onnx"} else found
            else:
                file.seek(length, 1)
        elif kind in {1, 5}:
            file.seek(8 if kind == 1 else 4, 1)
        else:
            raise ValueError("no protocol buffer")
    return found


def _opset_entry(file: BinaryIO, end: int) -> tuple[bytes, int]:
    domain, version = b"", 0
    while file.tell() < end:
        number, kind = divmod(_varint(file), 8)
        if kind == 2:
            content = file.read(_varint(file))
            domain = content if number == _DOMAIN else domain
        elif kind == 0:
            value = _varint(file)
            version = value if number == _VERSION else version
        else:
            raise ValueError("no opset")
    return domain, version


def _varint(file: BinaryIO) -> int:
    value = shift = 0
    while shift < 70:
        byte = file.read(1)
        if not byte:
            raise ValueError("the file ends early")
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return value
        shift += 7
    raise ValueError("no number")
