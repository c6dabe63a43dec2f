"""List every tensor of a model and run with all of them as outputs.

Found in: yyq19990828/onnxtools, the selector of tensors
"""

import numpy as np
from polygraphy import constants
from polygraphy.backend.onnx import BytesFromOnnx, ModifyOutputs, OnnxFromPath
from polygraphy.backend.onnx.util import all_tensor_names, get_num_nodes
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx

load = OnnxFromPath("conv.onnx")
marked = ModifyOutputs(load, outputs=constants.MARK_ALL)
print(all_tensor_names(load(), include_inputs=False), get_num_nodes(load()))
with OnnxrtRunner(SessionFromOnnx(BytesFromOnnx(marked))) as runner:
    outputs = runner.infer({"x": np.ones((1, 3, 8, 8), np.float32)})
    for name, array in outputs.items():
        print(name, array.shape, bool(np.isfinite(array).all()))
only = ModifyOutputs(load, outputs=["c"], exclude_outputs=[])()
print([output.name for output in only.graph.output])
