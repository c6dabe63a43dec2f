"""Keep a runner active between calls, and let it go.

Found in: MONAI monai/networks/trt_compiler.py
"""

from collections import OrderedDict

import numpy as np
from polygraphy.backend.common import bytes_from_path
from polygraphy.backend.onnx import fold_constants, onnx_from_path, save_onnx
from polygraphy.backend.onnxrt import OnnxrtRunner, session_from_onnx


class Compiled:
    def __init__(self, path):
        save_onnx(fold_constants(onnx_from_path(path), size_threshold=16 * 1000 * 1000), "folded.onnx")
        self.runner = OnnxrtRunner(session_from_onnx("folded.onnx", providers=["CPUExecutionProvider"]))
        self.runner.activate()

    def __call__(self, argument):
        return self.runner.infer(OrderedDict(x=argument))


compiled = Compiled("foldable.onnx")
print(len(bytes_from_path("folded.onnx")) > 0, compiled.runner.is_active)
for value in (1, -1):
    outputs = compiled(np.full((2, 3), value, np.float32))
    print({name: array[0].tolist() for name, array in outputs.items()})
compiled.runner.deactivate()
print(compiled.runner.is_active)
