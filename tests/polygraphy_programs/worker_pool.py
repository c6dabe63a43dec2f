"""Check parts of a data set in processes that are started afresh.

Found in: programs that check several models at once
"""

import multiprocessing

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx


def answer(value):
    with OnnxrtRunner(SessionFromOnnx("conv.onnx")) as runner:
        outputs = runner.infer({"x": np.full((1, 3, 8, 8), value, np.float32)})
        return OnnxrtRunner.__module__, sorted(outputs)


if __name__ == "__main__":
    for method in ("spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            answers = pool.map(answer, [0.5, 1.0])
        print(method, [(module == OnnxrtRunner.__module__, names) for module, names in answers])
