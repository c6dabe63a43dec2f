"""Compare, validate and keep inputs and outputs after a conversion, with tolerances by output.

Found in: triton-inference-server/model_navigator model_navigator/converter/polygraphy/transformers.py
"""

from pathlib import Path

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, CompareFunc, DataLoader
from polygraphy.json import load_json

inputs_path, outputs_path = Path("model.comparator_inputs.json"), Path("model.comparator_outputs.json")
runners = [OnnxrtRunner(SessionFromOnnx("conv.onnx")), OnnxrtRunner(SessionFromOnnx("conv_copy.onnx"))]
dataloader = DataLoader(seed=1, iterations=3, val_range={"x": (-1, 1)})
results = Comparator.run(runners, data_loader=dataloader, save_inputs_path=inputs_path.as_posix())
results.save(outputs_path.as_posix())
success = True
tolerances = {"y": 1e-4, "": 1e-5}
success &= bool(Comparator.compare_accuracy(results, compare_func=CompareFunc.simple(atol=tolerances, rtol=tolerances)))
success &= Comparator.validate(results)
print(success, [sorted(feed) for feed in load_json(inputs_path.as_posix())])
print(np.round(load_json(inputs_path.as_posix())[2]["x"].ravel()[:3], 5).tolist())
