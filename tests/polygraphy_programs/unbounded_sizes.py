"""List the tensors whose content decides how large others are, before TensorRT is asked to hold them.

Found in: NVIDIA/TensorRT tools/Polygraphy, tests of models whose shapes depend on data
"""

import numpy as np
import onnx
import onnx_graphsurgeon as gs
from onnx import TensorProto, helper, numpy_helper
from polygraphy.backend.onnx.util import get_unbounded_dds_tensors

weights = {"zero": np.int64(0), "one": np.int64(1), "limit": np.int64(9), "fixed": np.array([2, 2], np.int64)}
nodes = [
    helper.make_node("ReduceSum", ["x"], ["count"], keepdims=0),
    helper.make_node("Range", ["zero", "count", "one"], ["range"]),
    helper.make_node("Min", ["count", "limit"], ["few"]),
    helper.make_node("Range", ["zero", "few", "one"], ["bounded"]),
    helper.make_node("Tile", ["x", "fixed"], ["tiled"]),
]
outputs = [helper.make_tensor_value_info("range", TensorProto.INT64, ["r"])]
outputs += [helper.make_tensor_value_info("bounded", TensorProto.INT64, ["b"])]
outputs += [helper.make_tensor_value_info("tiled", TensorProto.INT64, [4, 4])]
inputs = [helper.make_tensor_value_info("x", TensorProto.INT64, [2, 2])]
tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()]
model = helper.make_model(helper.make_graph(nodes, "sizes", inputs, outputs, tensors))
found = get_unbounded_dds_tensors(gs.import_onnx(onnx.shape_inference.infer_shapes(model)))
print([tensor.name for tensor in found], type(found[0]).__name__)
