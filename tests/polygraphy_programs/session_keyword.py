"""Wrap a session that was made elsewhere, by keyword.

Found in: searches for `OnnxrtRunner(sess=`
"""

import onnxruntime
from polygraphy.backend.onnxrt import OnnxrtRunner

session = onnxruntime.InferenceSession("conv.onnx", providers=["CPUExecutionProvider"])
with OnnxrtRunner(sess=session, name="mine") as runner:
    print(runner.name, list(runner.get_input_metadata()))
