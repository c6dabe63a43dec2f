"""Reuse the inputs of a comparison for a reference."""

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, DataLoader

data_loader = DataLoader(seed=3, iterations=2, val_range={"": (-1, 1)})
runner = OnnxrtRunner(SessionFromOnnx("conv.onnx"))
results = Comparator.run([runner], data_loader=data_loader)
inputs = [dict(feed) for feed in data_loader]
print(len(inputs), inputs[0]["x"].shape, bool((np.abs(inputs[0]["x"]) <= 1).all()))
with OnnxrtRunner(SessionFromOnnx("conv.onnx")) as again:
    for feed, outputs in zip(inputs, results[0][1]):
        print(np.array_equal(again.infer(feed)["y"], outputs["y"]))
