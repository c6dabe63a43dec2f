"""Gather what each layer gives out over some inputs.

Found in: a program that ranks the layers of YOLO by their sensitivity to int8; it says `outputs="mark all"`, which
Polygraphy refuses
"""

import numpy as np
from polygraphy import constants
from polygraphy.backend.onnx import modify_outputs, onnx_from_path
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx

model = onnx_from_path("conv.onnx")
model = modify_outputs(model, outputs=constants.MARK_ALL)
runner = OnnxrtRunner(SessionFromOnnx(model.SerializeToString()))
gathered = {}
with runner:
    for value in (0.5, 1, 2):
        image = np.full((1, 3, 8, 8), value, np.float32)
        outputs = runner.infer({runner.get_input_metadata().keys().__iter__().__next__(): image})
        for name, array in outputs.items():
            gathered.setdefault(name, []).append(np.asarray(array).ravel())
for name, chunks in gathered.items():
    activation = np.concatenate(chunks)
    print(name, activation.size, round(float(activation.max()), 4))
