"""Read what a model wants, and compare two backends by the figures of Polygraphy.

Found in: triton-inference-server/model_navigator model_navigator/framework_api/commands
"""

from pathlib import Path

import numpy
from polygraphy.backend.base import BaseRunner
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import util as comp_util

path = Path("conv.onnx")
runner = OnnxrtRunner(SessionFromOnnx(path.as_posix(), providers=["CPUExecutionProvider"]))
print(isinstance(runner, BaseRunner))
with runner:
    metadata = runner.get_input_metadata()
    for name, (dtype, shape) in metadata.items():
        print(name, numpy.dtype(str(dtype).rpartition(".")[2].lower()).name, tuple(shape))
    first = runner.infer({"x": numpy.ones((1, 3, 8, 8), numpy.float32)})["y"]
difference = numpy.abs(first - first * numpy.float32(1.5))
relative = difference / numpy.abs(first)
print(round(float(comp_util.compute_max(difference)), 4), round(float(comp_util.compute_mean(relative)), 4))
