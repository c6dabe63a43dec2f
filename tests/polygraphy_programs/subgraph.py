"""Cut the backbone out of a detector."""

import onnx
from polygraphy.backend.onnx import ExtractSubgraph, SaveOnnx, extract_subgraph, onnx_from_path
from polygraphy.common import TensorMetadata

model = onnx_from_path("conv.onnx")
outputs = TensorMetadata().add("c", dtype=None, shape=None)
backbone = extract_subgraph(model, output_metadata=outputs)
print([node.op_type for node in backbone.graph.node], [item.name for item in backbone.graph.output])
inputs = TensorMetadata().add("c", dtype="float32", shape=(1, 4, 8, 8))
SaveOnnx(ExtractSubgraph(model, input_metadata=inputs), path="head.onnx")()
head = onnx.load("head.onnx")
print([node.op_type for node in head.graph.node], [item.name for item in head.graph.input])
