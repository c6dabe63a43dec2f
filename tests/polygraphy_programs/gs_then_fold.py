"""Pin a shape with GraphSurgeon, and have Polygraphy fold what follows from it.

Found in: NVIDIA/trt-samples-for-hackathon-cn cookbook/07-Tool/Polygraphy/API/gs_workflow.py
"""

import onnx
import onnx_graphsurgeon as gs
from polygraphy.backend.onnx.loader import fold_constants

graph = gs.import_onnx(onnx.load("foldable.onnx"))
before = len(graph.nodes)
graph.cleanup().toposort()
model = fold_constants(gs.export_onnx(graph), allow_onnxruntime_shape_inference=False)
graph = gs.import_onnx(model)
graph.cleanup().toposort()
onnx.save(gs.export_onnx(graph), "folded.onnx")
print(before, len(graph.nodes))
