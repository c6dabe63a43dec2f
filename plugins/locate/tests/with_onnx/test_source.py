"""PyTorch's module and line of source beside what is named."""

from __future__ import annotations

import numpy as np
import pytest
from located import REPORT, located
from onnx import TensorProto, helper
from small_models import save_graph


@pytest.mark.parametrize("inner", ["encoder.layer.0.scale", "_empty_nn_module_stack_from_metadata_hook"])
def test_the_module_and_line_of_pytorch_are_said(polycmp, tmp_path, inner):
    """torch.export notes a name of its own where it has lost the module."""

    def model(path, factor):
        node = helper.make_node("Mul", ["x", "k"], ["y"], name="node_mul")
        for key, value in (
            ("pkg.torch.onnx.name_scopes", f"['', 'encoder', 'encoder.layer.0', '{inner}', 'mul']"),
            ("pkg.torch.onnx.stack_trace", 'File "/a/model.py", line 3, in forward\n    return self.net(x)\n'
             'File "/a/scale.py", line 17, in forward\n    return x * self.k'),
        ):  # fmt: skip
            entry = node.metadata_props.add()
            entry.key, entry.value = key, value
        kind = TensorProto.FLOAT
        return save_graph(path, [node], [("x", kind, [4])], [("y", kind, [4])], [("k", np.float32(factor))])

    good, bad = model(tmp_path / "good.onnx", 1), model(tmp_path / "bad.onnx", 2)
    polycmp("locate", bad, "-b", "onnxrt", "-b", f"onnxrt:name=ref,model={good}", *REPORT)
    sentence = located(tmp_path)["sentence"]
    module = "encoder.layer.0" if inner.startswith("_") else inner
    assert sentence.endswith(f"in the model's source: module {module}, scale.py:17 (return x * self.k)")
