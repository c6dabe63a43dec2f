"""Compare the best classes instead of the numbers.

Found in: NVIDIA/TensorRT tools/Polygraphy, on postprocessing
"""

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, CompareFunc, IterationResult, PostprocessFunc

array = np.array([1, 2, 3, 4, 5], dtype=np.float32)
for k in (3, 10, {"": 10, "y": 2}):
    top = PostprocessFunc.top_k(k=k)(IterationResult({"x": array, "y": array}))
    print({name: indices.tolist() for name, indices in top.items()})
runners = [OnnxrtRunner(SessionFromOnnx(path), name=path) for path in ("conv.onnx", "conv_off.onnx")]
results = Comparator.postprocess(Comparator.run(runners), PostprocessFunc.top_k(k=2))
print({name: iterations[0]["y"].tolist() for name, iterations in results.items()})
print(bool(Comparator.compare_accuracy(results, compare_func=CompareFunc.indices(index_tolerance=0))))
