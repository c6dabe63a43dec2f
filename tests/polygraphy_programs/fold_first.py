"""Fold constants before a graph is rebuilt, and say how many nodes went.

Found in: a script that rebuilds RF-DETR
"""

import onnx

model = onnx.load("foldable.onnx")
if True:
    from polygraphy.backend.onnx import fold_constants

    num_nodes_before = len(model.graph.node)
    model = fold_constants(model)
    num_nodes_after = len(model.graph.node)
    print(f"{num_nodes_before} -> {num_nodes_after} (removed {num_nodes_before - num_nodes_after})")
graph = model.graph
print(graph.input[0].name, [size.dim_value for size in graph.input[0].type.tensor_type.shape.dim])
graph.input[0].name = "input"
for node in graph.node:
    node.input[:] = ["input" if name == "x" else name for name in node.input]
onnx.checker.check_model(model)
onnx.save(model, "rebuilt.onnx")
