"""Convert a model to half precision and see how far it is off."""

import numpy as np
from onnx import TensorProto
from polygraphy.backend.onnx import BytesFromOnnx, ConvertToFp16, OnnxFromPath
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, CompareFunc

half = ConvertToFp16(OnnxFromPath("conv.onnx"))
print({item.data_type == TensorProto.FLOAT16 for item in half().graph.initializer})
runners = [OnnxrtRunner(SessionFromOnnx(BytesFromOnnx(half))), OnnxrtRunner(SessionFromOnnx("conv.onnx"))]
results = Comparator.run(runners)
print(bool(Comparator.compare_accuracy(results, compare_func=CompareFunc.simple(atol=1e-3, rtol=1e-3))))
print(bool(Comparator.compare_accuracy(results, compare_func=CompareFunc.simple(atol=0, rtol=0))))
print(np.isfinite(results[0][1][0]["y"]).all())
