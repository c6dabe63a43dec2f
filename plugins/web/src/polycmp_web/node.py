"""A Node process that runs onnxruntime-web."""

from __future__ import annotations

import secrets
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from polycmp.errors import BackendError
from polycmp_web.library import Library, node

#: What Node loads, in newer and older releases.
_FILES = ("ort.node.min.js", "ort-web.node.js")
#: Node ends by itself once its standard input is closed.
_SECONDS = 5


class NodeEngine:
    """Passes requests to a process and its answers back.

    Args:
        library: The onnxruntime-web to load.
        whose: The label for errors.

    Raises:
        PluginError: There is no Node.
        BackendError: It cannot be started.
    """

    def __init__(self, library: Library, whose: str) -> None:
        self._whose = whose
        self._mark = secrets.token_hex(16)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 it lives as long as the process
        script = Path(__file__).with_name("node.mjs")
        words = [node(whose), str(script), str(library.file(*_FILES)), self._mark]
        try:
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, bufsize=-1
            )
        except OSError as error:
            self._errors.close()
            raise BackendError("Node cannot be started", whose=whose, why=str(error)) from error

    def ask(self, request: bytes) -> bytes:
        """Return the answer to a request.

        Raises:
            BackendError: The process ended.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(len(request).to_bytes(8, "little"))
            self._process.stdin.write(request)
            self._process.stdin.flush()
        except OSError as error:
            raise self._ended() from error
        while line := self._process.stdout.readline():
            if line.strip() == self._mark.encode():
                size = self._process.stdout.read(8)
                answer = self._process.stdout.read(int.from_bytes(size, "little"))
                if len(size) == 8 and len(answer) == int.from_bytes(size, "little"):
                    return answer
        raise self._ended()

    def close(self) -> None:
        """End the process."""
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()
        try:
            self._process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()

    def _ended(self) -> BackendError:
        status = self._process.wait()
        self._errors.seek(0)
        lines = [line.strip() for line in self._errors.read().decode("utf-8", "replace").splitlines()]
        told = [line for line in lines if "Error" in line or "error" in line] or [line for line in lines if line]
        return BackendError(
            f"Node ended with exit status {status}", whose=self._whose, why=told[0][:400] if told else "it said nothing"
        )
