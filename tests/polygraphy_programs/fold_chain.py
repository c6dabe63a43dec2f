"""Fold constants and save, as one chain of lazy loaders."""

import onnx
from polygraphy.backend.onnx import FoldConstants, InferShapes, ModifyOutputs, OnnxFromPath, SaveOnnx

chain = SaveOnnx(
    InferShapes(FoldConstants(ModifyOutputs(OnnxFromPath("foldable.onnx"), exclude_outputs=["z"]), num_passes=2)),
    path="folded/model.onnx",
)
model = chain()
print([output.name for output in model.graph.output], "Shape" in {node.op_type for node in model.graph.node})
onnx.checker.check_model(onnx.load("folded/model.onnx"))
