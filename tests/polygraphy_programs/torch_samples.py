"""Save the same inputs several times for the command line, and bytes beside them.

Found in: a deployment of ChatGLM with TensorRT, and the export of a ControlNet
"""

import numpy as np
from polygraphy.backend.common import SaveBytes, bytes_from_path
from polygraphy.backend.onnx import BytesFromOnnx, onnx_from_path
from polygraphy.json import load_json, save_json

input_ids, position_ids = np.arange(8).reshape(1, 8), np.arange(16, dtype=np.int32).reshape(1, 2, 8)


def load_data():
    for _ in range(5):
        yield {"input_ids": input_ids, "position_ids": position_ids}


save_json(list(load_data()), "input.json", description="custom input data")
back = load_json("input.json")
print(len(back), [(name, array.dtype.name, array.shape) for name, array in back[4].items()])
SaveBytes(BytesFromOnnx(onnx_from_path("conv.onnx")), path="copy.onnx")()
print(len(onnx_from_path("copy.onnx").graph.node), len(bytes_from_path("copy.onnx")) > 100)
