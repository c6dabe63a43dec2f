"""Find the width of a condition in the text of a model.

Found in: a program that builds engines of Stable Diffusion, and its presets
"""

import polygraphy.backend.onnx.util as onnx_util
from polygraphy.backend.onnx import onnx_from_path

print(
    onnx_util.str_from_onnx(onnx_from_path("dynamic.onnx", ignore_external_data=True))
    .strip()
    .split("'length', ")[1]
    .split(")]}")[0]
)
