"""Change a graph with GraphSurgeon, fold it, and write the bytes.

Found in: a script that puts a layer normalisation into a text encoder, and one that exports ControlNet
"""

import onnx
import onnx_graphsurgeon as gs
from polygraphy.backend.common import SaveBytes
from polygraphy.backend.onnx import BytesFromOnnx, FoldConstants, onnx_from_path

graph = gs.import_onnx(onnx.shape_inference.infer_shapes(onnx.load("foldable.onnx")))
tensors = graph.tensors()
print(sorted(name for name in tensors if name in {"x", "y", "z"}))
graph.outputs = [tensors["y"]]
folded = FoldConstants(gs.export_onnx(graph.cleanup().toposort()))
SaveBytes(BytesFromOnnx(folded), "out.onnx")()
print([node.op_type for node in onnx_from_path("out.onnx").graph.node])
