"""The format of ExecuTorch's files.

A `.pte` file is a flatbuffer of the published schema `program.fbs`, with weights and delegates' data in segments behind
it. The package executorch brings that schema, and the program `flatc` that turns flatbuffers into JSON and back.
"""

from __future__ import annotations

import json
import re
import struct
import subprocess
import tempfile
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from polycmp.errors import ModelError, PluginError

#: The header behind the first 8 bytes: magic, own length, size of the flatbuffer, place and size of the segments.
_HEADER = struct.Struct("<4sIQQQ")
_MAGIC, _IDENTIFIER, _PLACE = b"eh00", b"ET", 8
#: Where segments begin, and each of them.
_ALIGNMENT = 4096
#: Numbers that JSON has no words for: flatc writes them bare and reads them quoted.
_NOT_FINITE = re.compile(rb'("double_val": )(-?(?:inf|nan))')


class PteFile:
    """A program and the segments behind it.

    Args:
        program: The program, as the schema's table `Program`; enumerations by name.
        segments: The segments' bytes.
    """

    def __init__(self, program: dict[str, Any], segments: list[bytes]) -> None:
        self.program, self.segments = program, segments

    @classmethod
    def read(cls, path: str) -> PteFile:
        """Return the content of a file.

        Args:
            path: The file.

        Raises:
            ModelError: It is missing, or no program of ExecuTorch.
            PluginError: executorch is not installed.
        """
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise ModelError(
                f"cannot read {path}", whose="executorch", why=str(error.strerror), hint=f"ls -l {Path(path).parent}"
            ) from error
        if data[4:6] != _IDENTIFIER:
            raise ModelError(
                f"{path} is not a program of ExecuTorch", whose="executorch", why="it does not begin as one"
            )
        size, base = len(data), len(data)
        if data[_PLACE : _PLACE + 4] == _MAGIC and len(data) >= _PLACE + _HEADER.size:
            size, base = _HEADER.unpack_from(data, _PLACE)[2:4]
        try:
            text = _flatc(data[:size], "program.bin", "--json", "--strict-json", "--raw-binary")
            program = json.loads(_NOT_FINITE.sub(rb'\1"\2"', text))
            segments = [_piece(data, base, item) for item in program.get("segments", ())]
            if not program.get("execution_plan"):
                raise ValueError
        except (subprocess.CalledProcessError, ValueError) as error:
            raise ModelError(
                f"{path} is not a program of ExecuTorch", whose="executorch", why="it is damaged, or of a newer format"
            ) from error
        return cls(program, segments)

    def write(self) -> bytes:
        """Return the file as bytes."""
        table, data = [], bytearray()
        for segment in self.segments:
            data += bytes(-len(data) % _ALIGNMENT)
            table.append({"offset": len(data), "size": len(segment)})
            data += segment
        text = json.dumps({**self.program, "segments": table}).encode()
        flatbuffer = _flatc(text, "program.json", "--binary")
        root = struct.unpack_from("<I", flatbuffer)[0] + _HEADER_SIZE
        size = len(flatbuffer) + _HEADER_SIZE
        base = size + -size % _ALIGNMENT if data else 0
        header = _HEADER.pack(_MAGIC, _HEADER.size, size, base, len(data)).ljust(_HEADER_SIZE, b"\0")
        whole = struct.pack("<I", root) + flatbuffer[4:_PLACE] + header + flatbuffer[_PLACE:]
        return whole.ljust(base, b"\0") + bytes(data) if data else whole


#: Of a multiple of the largest alignment in the flatbuffer, which is shifted by it.
_HEADER_SIZE = 32


def _piece(data: bytes, base: int, segment: dict[str, int]) -> bytes:
    start, size = base + segment.get("offset", 0), segment.get("size", 0)
    if start + size > len(data):
        raise ValueError
    return data[start : start + size]


def _flatc(content: bytes, name: str, *arguments: str) -> bytes:
    """Return a flatbuffer as JSON, or JSON as a flatbuffer."""
    try:
        program, schema = files("executorch.data.bin") / "flatc", files("executorch") / "schema" / "program.fbs"
    except ImportError as error:
        raise PluginError(
            "needs ExecuTorch, which is not installed here", whose="executorch", why=str(error),
            hint="pip install 'polycmp-executorch[executorch]'",
        ) from error  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="polycmp-pte-", ignore_cleanup_errors=True) as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        with as_file(program) as flatc, as_file(schema) as fbs:
            command = [str(flatc), *arguments, "-o", folder, str(fbs)]
            command += ["--", str(path)] if "--raw-binary" in arguments else [str(path)]
            subprocess.run(command, check=True, capture_output=True)
        return next(item for item in Path(folder).iterdir() if item != path).read_bytes()
