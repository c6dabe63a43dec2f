"""The process that converts a model and runs it: pnnx and ncnn print, and end where a model surprises them."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.process import Connection

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LOG = "log.txt"
ONNX = "model.onnx"
#: What pnnx says of the place of the batch among the dimensions of inputs and outputs, in the program that it writes.
_PLACE = re.compile(r"\b((?:in|out)\d+)\.numpy\((?:\), )?batch_index=(\d+)\)")
_SECONDS = 3600


class Session:
    """A model in ncnn; files of the current folder hold it, and the arrays that go in and come out."""

    def __init__(self) -> None:
        self._net: Any = None
        self._places: dict[str, int] = {}

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a request."""
        return {"open": self._open, "run": self._run}[message["command"]](message)

    def _open(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._net = None
        os.chdir(message["folder"])
        _print_to(LOG)
        for name in ("model.ncnn.param", "model.ncnn.bin", "model_ncnn.py"):
            Path(name).unlink(missing_ok=True)
        words = [message["pnnx"], ONNX, f"inputshape={message['shapes']}", f"fp16={int(message['fp16'])}"]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, timeout=_SECONDS, check=False)
        if done.returncode or not Path("model_ncnn.py").exists():
            raise RuntimeError(f"pnnx ended with exit status {done.returncode}")
        self._places = {name: int(place) for name, place in _PLACE.findall(Path("model_ncnn.py").read_text("utf-8"))}
        import ncnn

        net = ncnn.Net()
        net.opt.num_threads = message["threads"]
        net.opt.use_vulkan_compute = False
        net.opt.use_winograd_convolution = message["winograd"]
        net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = message["fp16"]
        net.opt.use_bf16_storage = message["bf16"]
        if net.load_param("model.ncnn.param") or net.load_model("model.ncnn.bin"):
            raise RuntimeError("ncnn does not load what pnnx wrote")
        self._net = net
        return {}

    def _run(self, message: Mapping[str, Any]) -> dict[str, Any]:
        import ncnn

        with self._net.create_extractor() as extractor:
            for number in range(message["inputs"]):
                name, array = f"in{number}", np.load(f"input{number}.npy")
                if name in self._places:  # pnnx leaves out an input that nothing reads
                    extractor.input(name, ncnn.Mat(array, batch_index=self._places[name]).clone())
            for number in range(message["outputs"]):
                status, mat = extractor.extract(f"out{number}")
                if status:
                    raise RuntimeError(f"ncnn gives no output {number}: status {status}")
                np.save(f"output{number}.npy", np.array(mat.numpy(batch_index=self._places[f"out{number}"])))
        return {}


def main(arguments: Sequence[str]) -> None:
    """Answer the requests of this process's parent.

    Args:
        arguments: The parent's number.
    """
    connection = Connection(int(arguments[0]))
    session = Session()
    while (message := connection.receive()) is not None:
        try:
            answer = session.answer(message)
        except Exception as error:  # noqa: BLE001 - whatever ncnn raises is an answer
            answer = {"error": f"{error}" or type(error).__name__}
        connection.send(answer)
    os._exit(0)


def _print_to(name: str) -> None:
    """Have what is printed go into a file, also what C and pnnx print."""
    log = os.open(name, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)
