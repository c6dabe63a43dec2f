"""Select tensors of a model by a pattern, by position, or the first few.

Found in: yyq19990828/onnxtools, the selector of tensors
"""

import re

from polygraphy.backend.onnx import OnnxFromPath
from polygraphy.backend.onnx.util import all_tensor_names


def get_model_tensors(model_path):
    try:
        return all_tensor_names(OnnxFromPath(model_path)(), include_inputs=False)
    except Exception as error:
        raise RuntimeError(f"cannot load the model: {error}") from error


tensors = get_model_tensors("conv.onnx")
print(tensors)
print([name for name in tensors if re.search("^[pr]$", name)], [tensors[i] for i in (0, 2)], tensors[:2])
try:
    get_model_tensors("no_such_file.onnx")
except RuntimeError as error:
    print(str(error).partition(":")[0])
