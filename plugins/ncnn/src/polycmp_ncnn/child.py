"""The process that converts a model with pnnx and runs it in ncnn."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp_onnx.engine_child import ONNX, serve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

#: What pnnx says of the place of the batch among the dimensions of inputs and outputs, in the program that it writes.
_PLACE = re.compile(r"\b((?:in|out)\d+)\.numpy\((?:\), )?batch_index=(\d+)\)")
_SECONDS = 3600


class NcnnSession:
    """A model in ncnn."""

    def __init__(self) -> None:
        self._net: Any = None
        self._places: dict[str, int] = {}

    def open(self, message: Mapping[str, Any]) -> None:
        """Convert the model for the sizes of its inputs and load it."""
        self._net = None
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

    def run(self, inputs: Sequence[NDArray[Any]], outputs: int) -> list[NDArray[Any]]:
        """Return the outputs for one feed."""
        import ncnn

        results = []
        with self._net.create_extractor() as extractor:
            for number, array in enumerate(inputs):
                name = f"in{number}"
                if name in self._places:  # pnnx leaves out an input that nothing reads
                    extractor.input(name, ncnn.Mat(array, batch_index=self._places[name]).clone())
            for number in range(outputs):
                status, mat = extractor.extract(f"out{number}")
                if status:
                    raise RuntimeError(f"ncnn gives no output {number}: status {status}")
                results.append(np.array(mat.numpy(batch_index=self._places[f"out{number}"])))
        return results


def main(arguments: Sequence[str]) -> None:
    """Answer the requests of this process's parent.

    Args:
        arguments: The parent's number.
    """
    serve(NcnnSession(), arguments)
