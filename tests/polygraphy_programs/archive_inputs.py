"""Feed a runner from `.npz` files, and keep its outputs in one.

Found in: NVIDIA/TensorRT samples/python/strongly_type_autocast
"""

import numpy as np
import onnxruntime
from polygraphy.backend.onnxrt import OnnxrtRunner

for i in range(3):
    np.savez(f"{i}.npz", x=np.full((1, 3, 8, 8), i / 2, np.float32))
all_output = []
runner = OnnxrtRunner(onnxruntime.InferenceSession("conv.onnx", providers=["CPUExecutionProvider"]))
with runner:
    for i in range(3):
        output = runner.infer(feed_dict=np.load(f"{i}.npz"))
        all_output.append(output["y"].copy())
        print(i, int(np.argmax(output["y"])))
np.savez("outputs.npz", y=np.concatenate(all_output, axis=0))
print(np.round(np.load("outputs.npz")["y"], 4).tolist())
