"""Choose a runner by the suffix of the model, and feed it whatever shape its metadata says.

Found in: a benchmark of inference engines; its runner for Polygraphy
"""

from pathlib import Path

import numpy as np
from polygraphy import util
from polygraphy.backend.common import BytesFromPath
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx


def runner(model):
    suffix = Path(model).suffix
    if suffix in (".engine", ".plan"):
        from polygraphy.backend.trt import EngineFromBytes, TrtRunner

        return TrtRunner(EngineFromBytes(BytesFromPath(model)))
    return OnnxrtRunner(SessionFromOnnx(model, ["cpu"]))


with runner("dynamic.onnx") as active:
    input_metadata = {
        name: (dtype.numpy(), util.override_dynamic_shape(shape, default_shape_value=4))
        for name, (dtype, shape) in active.get_input_metadata(use_numpy_dtypes=False).items()
    }
    for name, (dtype, shape) in input_metadata.items():
        print(name, np.dtype(dtype).name, list(shape))
    feed_dict = {name: np.zeros(shape, dtype=dtype) for name, (dtype, shape) in input_metadata.items()}
    print({name: array.shape for name, array in active.infer(feed_dict).items()})
