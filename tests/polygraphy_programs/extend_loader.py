"""Change a model on its way from the file to the session."""

import numpy as np
from polygraphy import func
from polygraphy.backend.onnx import BytesFromOnnx, OnnxFromPath
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx


@func.extend(OnnxFromPath("conv.onnx"))
def renamed(model):
    model.graph.output[0].name = "scores"
    model.graph.node[-1].output[0] = "scores"
    return model


@func.extend(BytesFromOnnx(renamed))
def measured(serialized):
    print("serialized", len(serialized) > 100)


with OnnxrtRunner(SessionFromOnnx(measured)) as runner:
    print(list(runner.infer({"x": np.zeros((1, 3, 8, 8), np.float32)})))
