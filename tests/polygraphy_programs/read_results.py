"""Pick the best box out of saved results.

Found in: kaoyuching/edge_ocr, the data loader for Polygraphy
"""

import sys

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator
from polygraphy.comparator.struct import RunResults


def load_data():
    for index in range(3):
        yield {"x": np.full((1, 3, 8, 8), index, np.float32)}


def postprocess(path):
    for _, outputs in RunResults.load(path):
        for output in outputs:
            array = output["y"].squeeze()
            print(array.shape, round(float(array.max()), 4))


if __name__ == "__main__":
    Comparator.run([OnnxrtRunner(SessionFromOnnx("conv.onnx"))], data_loader=load_data(), save_outputs_path="out.json")
    postprocess(sys.argv[1] if len(sys.argv) > 1 else "out.json")
