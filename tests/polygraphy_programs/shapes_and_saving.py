"""Infer shapes, save with the weights beside the model, and load again."""

import os

import onnx
from polygraphy.backend.onnx import (
    bytes_from_onnx,
    infer_shapes,
    onnx_from_bytes,
    onnx_from_path,
    save_onnx,
)

model = infer_shapes(onnx_from_path("conv.onnx"), error_ok=True)
known = {value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in model.graph.value_info}
print(known["c"], known["p"])
save_onnx(model, "big.onnx", external_data_path="big.onnx.data", size_threshold=0)
print(os.path.getsize("big.onnx.data") > 0, os.path.exists("big.onnx"))
again = onnx_from_path("big.onnx")
onnx.checker.check_model(onnx_from_bytes(bytes_from_onnx(again)))
print(len(again.graph.initializer))
