"""Write inputs and outputs from Python, and read them back to the last bit.

Found in: NVIDIA/trt-samples-for-hackathon-cn cookbook/07-Tool/Polygraphy/API
"""

from pathlib import Path

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, DataLoader, RunResults
from polygraphy.json import load_json
from polygraphy.logger import G_LOGGER

G_LOGGER.module_severity = G_LOGGER.ERROR
inputs, outputs = Path("inputs.json"), Path("outputs.json")
results = Comparator.run(
    [OnnxrtRunner(SessionFromOnnx("conv.onnx"), name="onnxrt")],
    data_loader=DataLoader(seed=31193, iterations=2),
    save_inputs_path=str(inputs),
)
results.save(str(outputs))
fed, loaded = load_json(str(inputs)), RunResults.load(str(outputs))
print(type(fed).__name__, [sorted(feed) for feed in fed], list(loaded.keys()))
for before, after in zip(results["onnxrt"], loaded["onnxrt"]):
    print(all(np.array_equal(before[name], after[name]) for name in before))
again = Comparator.run([OnnxrtRunner(SessionFromOnnx("conv.onnx"), name="again")], data_loader=fed)
loaded.extend(again)
print(bool(Comparator.compare_accuracy(loaded)), [round(float(feed["x"].sum()), 4) for feed in fed])
