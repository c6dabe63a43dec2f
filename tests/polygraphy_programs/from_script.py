"""Load a model from a script of its own."""

import pathlib

from polygraphy.backend.common import InvokeFromScript, invoke_from_script
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx

pathlib.Path("define.py").write_text("def load_model(path='identity.onnx'):\n    return open(path, 'rb').read()\n")
print(len(invoke_from_script("define.py", "load_model")) > 50)
with OnnxrtRunner(SessionFromOnnx(InvokeFromScript("define.py", name="load_model"))) as runner:
    print(list(runner.get_input_metadata()))
