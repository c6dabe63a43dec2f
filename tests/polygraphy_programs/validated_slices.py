"""Check slices of a model with the command line.

Found in: a program that cuts models into provable slices
"""

import subprocess

import onnx
import polygraphy.backend.onnx.loader as pg_loader

model = onnx.load("conv.onnx")
onnx.save(pg_loader.infer_shapes(model), "segment_0.onnx")
result = subprocess.run(
    ["polygraphy", "inspect", "model", "segment_0.onnx"], capture_output=True, text=True, timeout=60
)
print("passed" if result.returncode == 0 else result.stderr[:100])
