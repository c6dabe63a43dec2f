"""Edit a graph with GraphSurgeon between two loaders."""

import onnx_graphsurgeon as gs
from polygraphy.backend.onnx import GsFromOnnx, OnnxFromPath, SaveOnnx, gs_from_onnx

graph = gs_from_onnx(OnnxFromPath("foldable.onnx"))
print(sorted(node.op for node in graph.nodes))
graph.fold_constants().cleanup()
print(sorted(node.op for node in graph.nodes))
SaveOnnx(gs.export_onnx(graph), "edited.onnx")()
print(len(GsFromOnnx(OnnxFromPath("edited.onnx"))().nodes))
