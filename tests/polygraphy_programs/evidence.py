"""Turn saved results of two runners into a verdict for each iteration.

Found in: niansia/M2RIV integrations/polygraphy_mcr/produce.py
"""

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, CompareFunc, RunResults


def load_data():
    for value in (0, 1, 2):
        yield {"x": np.full((1, 3, 8, 8), value, np.float32) + np.eye(8, dtype=np.float32) * value}


made = RunResults()
for name, path in (("baseline", "conv.onnx"), ("candidate", "conv_off.onnx")):
    made.extend(Comparator.run([OnnxrtRunner(SessionFromOnnx(path), name=name)], data_loader=load_data()))
made.save("run-results.json")
results = RunResults.load("run-results.json")
pair = ("baseline", "candidate")
selected = RunResults([(name, results[name]) for name in pair])
found = Comparator.compare_accuracy(selected, compare_func=CompareFunc.simple(atol=1e-3, rtol=1e-3))
if len(found) != 1:
    raise ValueError("an unexpected number of comparisons")
comparisons = found[0]
if pair not in comparisons:
    raise ValueError("the pair was not compared")
for index, outputs in enumerate(comparisons[pair]):
    print(index, {str(name): bool(match) for name, match in outputs.items()})
