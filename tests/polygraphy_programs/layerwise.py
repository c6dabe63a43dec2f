"""Compare every tensor of a model with and without optimisations, and name the first that is off."""

from polygraphy.backend.onnx import bytes_from_onnx, modify_outputs, onnx_from_path
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, CompareFunc
from polygraphy.constants import MARK_ALL

models = [
    bytes_from_onnx(modify_outputs(onnx_from_path(path), outputs=MARK_ALL)) for path in ("conv.onnx", "conv_off.onnx")
]
results = Comparator.run([OnnxrtRunner(SessionFromOnnx(model)) for model in models])
compare = CompareFunc.simple(atol=1e-3, rtol=0.0, fail_fast=False)
verdicts = compare(results[0][1][0], results[1][1][0])
print([name for name, verdict in verdicts.items() if not verdict])
