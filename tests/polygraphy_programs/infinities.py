"""Replace infinities in constants of a text encoder before it is converted.

Found in: a script that puts large numbers in place of infinities in a CLIP text encoder
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from polygraphy.backend.onnx import ModifyOutputs, modify_outputs, onnx_from_path

value = numpy_helper.from_array(np.array([-np.inf], np.float32))
nodes = [helper.make_node("ConstantOfShape", ["s"], ["c"], value=value), helper.make_node("Add", ["x", "c"], ["y"])]
sides = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])] for name in "xy"]
graph = helper.make_graph(nodes, "g", *sides, [numpy_helper.from_array(np.array([2]), "s")])
made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.save(made, "clip_0.onnx")

model = onnx_from_path("clip_0.onnx")
for node in model.graph.node:
    if node.op_type == "ConstantOfShape":
        attribute = node.attribute[0]
        if attribute.name == "value" and attribute.t.data_type == TensorProto.FLOAT:
            array = np.frombuffer(attribute.t.raw_data, dtype=np.float32).copy()
            array[array == -np.inf] = -1000000
            attribute.t.raw_data = array.tobytes()
            print(array.tolist())
onnx.save_model(model, "clip_1.onnx")
print([output.name for output in modify_outputs(onnx_from_path("clip_1.onnx"), outputs=["c"]).graph.output])
print([output.name for output in ModifyOutputs(onnx_from_path("clip_1.onnx"), outputs=["c", "y"])().graph.output])
