"""List the tensors whose values would overflow in half precision, by position in the saved results.

Found in: a guide on Stable Diffusion in half precision
"""

from collections import OrderedDict

import numpy as np
import onnx
from polygraphy import constants
from polygraphy.backend.onnx import modify_outputs
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator
from polygraphy.json import load_json, save_json

model = onnx.load("conv.onnx")
names = [item.name for item in model.graph.input]
onnx.save_model(modify_outputs(model, outputs=constants.MARK_ALL, exclude_outputs=names), "all_outputs.onnx")
feed = OrderedDict()
feed["x"] = np.linspace(-50, 60000, 192, dtype=np.float32).reshape(1, 3, 8, 8)
save_json([feed], "inputs.json")
runner = OnnxrtRunner(SessionFromOnnx("all_outputs.onnx"))
Comparator.run([runner], data_loader=load_json("inputs.json")).save("outputs.json")
outputs = load_json("outputs.json")[0][1][0]
for name in outputs:
    print(name, bool(np.max(np.abs(outputs[name])) > 10000))
