"""Hand a model to another tool by a temporary file."""

import os

import onnx
from polygraphy import util
from polygraphy.backend.onnx import onnx_from_path, save_onnx
from polygraphy.util import NamedTemporaryFile

with NamedTemporaryFile(suffix=".onnx") as file:
    save_onnx(onnx_from_path("identity.onnx"), file.name)
    print(onnx.load(file.name).graph.node[0].op_type, file.name.endswith(".onnx"))
name = util.NamedTemporaryFile(prefix="engine-").name
print(os.path.exists(name), os.path.basename(name).startswith("engine-"))
os.unlink(name)
