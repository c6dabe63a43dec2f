"""Take the best row of each saved output.

Found in: kaoyuching/edge_ocr, the data loader for Polygraphy
"""

import sys

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator
from polygraphy.comparator.struct import RunResults


def load_data():
    for value in (1, -2):
        yield {"x": np.full((1, 3, 8, 8), value, np.float32)}


def postprocess(path):
    for _, outputs in RunResults.load(path):
        for output in outputs:
            row = output["y"].squeeze()
            print(row.shape, int(np.argmax(row)), row.astype(np.int64).tolist())


Comparator.run([OnnxrtRunner(SessionFromOnnx("conv.onnx"))], data_loader=load_data()).save("result.json")
postprocess(sys.argv[1] if len(sys.argv) > 1 else "result.json")
