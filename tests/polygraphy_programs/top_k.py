"""Ask whether two runners rank the classes the same way, for one output by its name.

Found in: NVIDIA/trt-samples-for-hackathon-cn cookbook/07-Tool/Polygraphy/More/02-ComparingBackends/main.py
"""

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, CompareFunc, PostprocessFunc

feed = {"x": np.linspace(0, 1, 192, dtype=np.float32).reshape(1, 3, 8, 8)}
runners = [OnnxrtRunner(SessionFromOnnx("conv.onnx")), OnnxrtRunner(SessionFromOnnx("conv_off.onnx"))]


def run_both():
    return Comparator.run(runners, data_loader=[feed])


print(bool(Comparator.compare_accuracy(run_both(), compare_func=CompareFunc.indices(index_tolerance=0))))
top_k = Comparator.postprocess(run_both(), PostprocessFunc.top_k(k={"y": (2, 1)}))
print(bool(Comparator.compare_accuracy(top_k, compare_func=CompareFunc.indices(index_tolerance=0))))
print([outputs["y"].tolist() for _, iterations in top_k for outputs in iterations])
