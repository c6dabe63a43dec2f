"""Describe the inputs and outputs of a model for a server's configuration.

Found in: huggingbench/huggingbench hugging_bench
"""

import onnx
from polygraphy.backend.onnx.util import get_input_metadata, get_output_metadata

TYPES = {"float32": "TYPE_FP32", "int64": "TYPE_INT64"}


def tensors(metadata):
    for name, spec in metadata.items():
        dims = [-1 if isinstance(dim, str) else dim for dim in spec.shape]
        yield name, TYPES[str(spec.dtype)], dims


for path in ("dynamic.onnx", "conv.onnx"):
    model = onnx.load(path)
    print(list(tensors(get_input_metadata(model.graph))), list(tensors(get_output_metadata(model.graph))))
