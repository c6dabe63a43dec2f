"""Save the inputs of a comparison, and give them to a session of one's own."""

import numpy as np
import onnxruntime
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, DataLoader
from polygraphy.json import load_json

loader = DataLoader(seed=5, iterations=2, val_range=(-1, 1))
results = Comparator.run([OnnxrtRunner(SessionFromOnnx("conv.onnx"))], loader, save_inputs_path="inputs.json")
session = onnxruntime.InferenceSession("conv.onnx", providers=["CPUExecutionProvider"])
for feed_dict, outputs in zip(load_json("inputs.json"), results[0][1]):
    print(feed_dict["x"].shape, np.allclose(session.run(None, dict(feed_dict))[0], outputs["y"], atol=1e-6))
