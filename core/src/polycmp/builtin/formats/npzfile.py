"""`.npz` archives: what `numpy.load` reads, plus a list of contents, written as a stream and read by mapping.

Entries are stored without compression and padded so that every array starts at a multiple of 64 bytes, which lets a
reader use the file's pages as the array. The list of contents is the last entry, `polycmp.json`.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

import numpy as np

from polycmp.builtin.formats.manifest import Manifest, stored_from_arrays, stored_from_manifest
from polycmp.builtin.formats.openfile import OpenFile
from polycmp.errors import FileError, describe_exception
from polycmp.results import Stored, read_npy_header

if TYPE_CHECKING:
    from numpy.typing import NDArray

MANIFEST = "polycmp.json"
_ALIGNMENT = 64
_PADDING_FIELD = 0xD935  # the extra field that Android's zipalign uses for the same purpose
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_ZIP64_FIELD_SIZE = 20
_CHUNK = 16 << 20
#: Bytes that compressed arrays may unpack to, and how many times those of the file: all zeros come to 1,000 times, and
#: numbers that a model computes to less than 10. A choice: what is beyond both is refused before memory is taken.
_UNPACKED, _TIMES = 1 << 30, 100


class NpzWriter:
    """Writes iterations into an `.npz` archive as they come.

    Args:
        file: The file to write to.
        kind: `inputs` or `outputs`.
        path: The file to write.
    """

    def __init__(self, file: BinaryIO, kind: str, path: Path) -> None:
        del path
        self._file = file
        self._archive = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True)
        self._manifest = Manifest(kind)

    def add(self, label: str, arrays: Mapping[str, Any], runtime: float | None) -> None:
        """Write one iteration."""
        for entry, array in self._manifest.add(label, arrays, runtime):
            info = zipfile.ZipInfo(f"{entry}.npy")
            info.extra = self._padding(info.filename)
            with self._archive.open(info, "w", force_zip64=True) as stream:
                _write_npy(stream, array)

    def finish(self) -> None:
        """Write the list of contents and close the archive."""
        self._archive.writestr(zipfile.ZipInfo(MANIFEST), self._manifest.to_json())
        self._archive.close()

    def discard(self) -> None:
        """Close the archive, which would otherwise write to the file when it is collected."""
        with suppress(OSError, ValueError):  # what is written now is never read
            self._archive.close()

    def _padding(self, name: str) -> bytes:
        start = self._file.tell() + _LOCAL_HEADER.size + len(name.encode("utf-8")) + _ZIP64_FIELD_SIZE + 4
        missing = -start % _ALIGNMENT
        return struct.pack("<2H", _PADDING_FIELD, missing) + bytes(missing)


def _write_npy(stream: IO[bytes], array: NDArray[Any]) -> None:
    header = np.lib.format.header_data_from_array_1_0(array)
    np.lib.format.write_array_header_1_0(stream, header)
    flat = (array.T if header["fortran_order"] else np.asarray(array, order="C")).reshape(-1)
    if flat.nbytes:
        raw = flat.view(np.uint8)
        for start in range(0, len(raw), _CHUNK):
            stream.write(raw[start : start + _CHUNK].data)


def read_npz(path: Path) -> Stored:
    """Open an `.npz` file without reading its arrays.

    An archive that another program wrote is one iteration of all its arrays.

    Raises:
        FileError: It is no such archive, or damaged.
    """
    try:
        archive = _Archive(path)
        manifest = archive.manifest()
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, NotImplementedError) as error:
        raise FileError("this is not an npz archive, or only a part of one", why=describe_exception(error)) from error
    if manifest is not None:
        return stored_from_manifest(manifest, archive.read)
    arrays = archive.arrays()
    if not arrays:
        raise FileError("this zip archive holds no arrays")
    return stored_from_arrays(arrays, path.stem, archive.read)


class _Archive:
    """An archive whose directory is read once, however many of its arrays are read.

    Args:
        path: The file.

    Raises:
        FileError: Its arrays would unpack to far more than they take in the file.
    """

    def __init__(self, path: Path) -> None:
        self._file = OpenFile(path)
        self._zip = zipfile.ZipFile(self._file.stream)
        packed = [info for info in self._zip.infolist() if info.compress_type != zipfile.ZIP_STORED]
        unpacked, size = sum(info.file_size for info in packed), path.stat().st_size
        if unpacked > max(_UNPACKED, _TIMES * size):
            raise FileError(
                f"its arrays would unpack to {unpacked:,} bytes, {unpacked // max(size, 1):,} times the file",
                whose=str(path),
                why="compressed arrays are unpacked in memory, and no outputs of a model are so much alike",
                hint="if they are meant, save them without compression: numpy.savez",
            )

    def manifest(self) -> bytes | None:
        """Return the list of contents, None if there is none."""
        return self._zip.read(MANIFEST) if MANIFEST in self._zip.NameToInfo else None

    def arrays(self) -> list[str]:
        """Return the names of all arrays."""
        return [name.removesuffix(".npy") for name in self._zip.namelist() if name.endswith(".npy")]

    def read(self, entry: str) -> NDArray[Any]:
        """Return an array by its name.

        Raises:
            FileError: There is none, or it is damaged.
        """
        try:
            info = self._zip.getinfo(f"{entry}.npy")
            mapped = _map_entry(self._file, info)
            if mapped is not None:
                return mapped
            with self._zip.open(info) as stream:
                return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
        except (zipfile.BadZipFile, zlib.error, struct.error, KeyError, ValueError, EOFError, OSError) as error:
            raise FileError(
                f"its array {entry!r} is damaged", whose=str(self._file.path), why=describe_exception(error)
            ) from error


def _map_entry(file: OpenFile, info: zipfile.ZipInfo) -> NDArray[Any] | None:
    """Return the entry as read-only bytes of the file, or None where they do not lie there as an array."""
    if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1 or not info.file_size:
        return None
    fields = _LOCAL_HEADER.unpack(file.bytes_at(info.header_offset, _LOCAL_HEADER.size).tobytes())
    start = info.header_offset + _LOCAL_HEADER.size + fields[-2] + fields[-1]
    entry = file.bytes_at(start, info.file_size)
    stream = io.BytesIO(entry[: _ALIGNMENT * 1024].tobytes())
    shape, fortran_order, dtype = read_npy_header(stream)
    offset = stream.tell()
    if (start + offset) % max(dtype.alignment, 1):
        return None
    _check_crc(entry, info.CRC)
    count = int(np.prod(shape, dtype=np.int64))
    if count * dtype.itemsize != info.file_size - offset:
        raise ValueError(f"it has {info.file_size - offset} bytes, its header promises {count * dtype.itemsize}")
    flat = np.asarray(entry[offset:]).view(dtype)
    return flat.reshape(shape, order="F" if fortran_order else "C")


def _check_crc(entry: NDArray[np.uint8], expected: int) -> None:
    crc = 0
    for start in range(0, len(entry), _CHUNK):
        crc = zlib.crc32(entry[start : start + _CHUNK].data, crc)
    if crc != expected:
        raise ValueError("its checksum is wrong")
