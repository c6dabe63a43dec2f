"""Say for each layer how far the results in one file are from those in another.

Found in: an answer to NVIDIA/TensorRT#4605 with scripts for errors layer by layer
"""

import numpy as np
from polygraphy import constants
from polygraphy.backend.onnx import BytesFromOnnx, ModifyOutputs, OnnxFromPath
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, RunResults

feed = {"x": np.linspace(-1, 1, 192, dtype=np.float32).reshape(1, 3, 8, 8)}
for name, path in (("conv", "fp16_all_layers.json"), ("conv_off", "int8_all_layers.json")):
    model = ModifyOutputs(OnnxFromPath(f"{name}.onnx"), outputs=constants.MARK_ALL)
    Comparator.run([OnnxrtRunner(SessionFromOnnx(BytesFromOnnx(model)))], data_loader=[feed]).save(path)

fp16_results, int8_results = RunResults.load("fp16_all_layers.json"), RunResults.load("int8_all_layers.json")
fp16_outputs = fp16_results[list(fp16_results.keys())[0]][0]
int8_outputs = int8_results[list(int8_results.keys())[0]][0]
for layer_name in fp16_outputs.keys():
    if layer_name in int8_outputs:
        abs_diff = np.abs(fp16_outputs[layer_name] - int8_outputs[layer_name])
        rel_diff = abs_diff / (np.abs(fp16_outputs[layer_name]) + 1e-8)
        print(layer_name, f"{np.max(abs_diff):.4f} {np.mean(abs_diff):.4f} {np.max(rel_diff):.4f}")
