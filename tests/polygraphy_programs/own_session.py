"""Wrap a session that was made with options of one's own."""

import numpy as np
import onnxruntime
from polygraphy.backend.onnxrt import OnnxrtRunner

options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
session = onnxruntime.InferenceSession("conv.onnx", options, providers=["CPUExecutionProvider"])
with OnnxrtRunner(session, name="unoptimized") as runner:
    print(runner.name, runner.infer({"x": np.ones((1, 3, 8, 8), np.float32)})["y"].shape)
