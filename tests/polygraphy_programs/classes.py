"""Compare only the best classes of a classifier."""

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, CompareFunc, PostprocessFunc

feeds = [{"x": np.random.RandomState(seed).rand(1, 3, 8, 8).astype(np.float32)} for seed in (1, 2)]
runners = [OnnxrtRunner(SessionFromOnnx("conv.onnx")), OnnxrtRunner(SessionFromOnnx("conv_copy.onnx"))]
results = Comparator.run(runners, data_loader=feeds)
assert Comparator.validate(results, check_inf=True, check_nan=True)
top = Comparator.postprocess(results, PostprocessFunc.top_k(k=3))
print(top[0][1][0]["y"].shape, top[0][1][0]["y"].dtype.kind)
print(bool(Comparator.compare_accuracy(top, compare_func=CompareFunc.indices(index_tolerance=0))))
