"""Tell an error that is spread from one of a few outliers, out of files of the command line.

Found in: NVIDIA/trt-samples-for-hackathon-cn cookbook/07-Tool/Polygraphy/DebugWorkflow/accuracy_scatterplot.py
"""

from collections import OrderedDict

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator
from polygraphy.json import load_json

for model, path in (("conv", "data-golden.json"), ("conv_off", "data-test.json")):
    Comparator.run([OnnxrtRunner(SessionFromOnnx(f"{model}.onnx"))]).save(path)


def load_outputs(path):
    entry = load_json(path)[0]
    if not isinstance(entry, dict):
        entry = entry[1][0]
    return OrderedDict((name, np.asarray(value)) for name, value in entry.items())


golden, test = load_outputs("data-golden.json"), load_outputs("data-test.json")
for name in [name for name in golden if name in test]:
    error = np.abs(golden[name].astype(np.float64) - test[name].astype(np.float64)).reshape(-1)
    share = float(np.sort(error)[::-1][:1].sum() / error.sum())
    print(name, golden[name].shape, golden[name].dtype, int(np.count_nonzero(error)), round(share, 4))
