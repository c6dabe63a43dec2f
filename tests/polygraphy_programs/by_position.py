"""Give providers by position, inputs as a list, and take the outputs by the runners' names.

Found in: a script that follows the lengths in a speech recogniser of NeMo
"""

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator

runners = [
    OnnxrtRunner(SessionFromOnnx("dynamic.onnx")),
    OnnxrtRunner(SessionFromOnnx("dynamic.onnx", ["cpu"]), "onnxrt-cpu"),
]
feed = {"ids": np.array([[1, 4]], dtype=np.int64), "mask": np.array([[1, 0]], dtype=np.int64)}
run_results = Comparator.run(runners, data_loader=[feed])
first, second = list(run_results.keys())
print(second, run_results[first][0]["hidden"].tolist())
assert (run_results[first][0]["hidden"] == run_results[second][0]["hidden"]).all()
