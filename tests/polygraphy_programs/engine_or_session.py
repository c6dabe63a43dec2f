"""Compose a lazy engine build; where TensorRT is missing, use ONNX Runtime."""

import importlib.util

import numpy as np
from polygraphy.backend.common import BytesFromPath
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.backend.trt import (
    CreateConfig,
    EngineFromBytes,
    EngineFromNetwork,
    NetworkFromOnnxPath,
    Profile,
    SaveEngine,
    TrtRunner,
)

profiles = [Profile().add("x", min=[1, 3, 8, 8], opt=[1, 3, 8, 8], max=[1, 3, 8, 8])]
build_engine = SaveEngine(
    EngineFromNetwork(NetworkFromOnnxPath("conv.onnx"), config=CreateConfig(fp16=True, profiles=profiles)),
    path="conv.engine",
)
load_engine = EngineFromBytes(BytesFromPath("conv.engine"))
has_gpu = importlib.util.find_spec("tensorrt") is not None
runner = TrtRunner(load_engine) if has_gpu else OnnxrtRunner(SessionFromOnnx("conv.onnx"))
with runner:
    print(runner.infer({"x": np.zeros((1, 3, 8, 8), np.float32)})["y"].shape)
print(callable(build_engine))
