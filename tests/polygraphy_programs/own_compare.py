"""Judge outputs by a function of one's own."""

from collections import OrderedDict

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, DataLoader


def cosine(result0, result1):
    verdicts = OrderedDict()
    for name, a in result0.items():
        a, b = np.asarray(a).ravel(), np.asarray(result1[name]).ravel()
        verdicts[name] = bool(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)) > 0.999)
    return verdicts


runners = [OnnxrtRunner(SessionFromOnnx("conv.onnx")), OnnxrtRunner(SessionFromOnnx("conv_copy.onnx"))]
results = Comparator.run(runners, data_loader=DataLoader(seed=7, iterations=3))
accuracy = Comparator.compare_accuracy(results, compare_func=cosine)
print(bool(accuracy), len(results[0][1]))
