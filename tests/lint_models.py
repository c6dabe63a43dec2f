"""Models that `polycmp check lint` looks at."""

from __future__ import annotations

import onnx
from onnx import TensorProto, helper, numpy_helper

F = TensorProto.FLOAT


def save(path, nodes, outputs=("y",), weights=None, opsets=(("", 20),), inputs=(("x", [2, 4]),)):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, F, shape) for name, shape in inputs],
        [helper.make_tensor_value_info(name, F, ["rows", "columns"]) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()],
    )
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets]
    onnx.save(helper.make_model(graph, ir_version=10, opset_imports=imports), path)
