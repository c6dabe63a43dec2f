"""Correlate the outputs of two runners, out of the arrays that an iteration wraps.

Found in: a converter of temporal convolutional networks with int8
"""

import numpy as np
from polygraphy import util
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator
from polygraphy.logger import G_LOGGER

G_LOGGER.severity = G_LOGGER.INFO
print(util.default(None, 1 << 24), util.default(False, True))
feed = {"x": np.linspace(0, 1, 192, dtype=np.float32).reshape(1, 3, 8, 8)}
runners = [OnnxrtRunner(SessionFromOnnx("conv.onnx")), OnnxrtRunner(SessionFromOnnx("conv_off.onnx"))]
run_results = Comparator.run(runners, data_loader=(feed for _ in range(1)))
arrays = [list(run_results.values())[i][0].dct["y"].arr for i in range(len(runners))]
G_LOGGER.info("-" * 10 + "correlation" + "-" * 10)
print(round(float(np.corrcoef(arrays[0].ravel(), arrays[1].ravel())[0, 1]), 4))
print(bool(Comparator.compare_accuracy(run_results)))
