"""Put the results of two processes into one object, and compare them.

Found in: NVIDIA/trt-samples-for-hackathon-cn, the example on saved inputs and results
"""

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, CompareFunc, DataLoader, RunResults


def one_process(model, path):
    loader = DataLoader(iterations=2)
    Comparator.run([OnnxrtRunner(SessionFromOnnx(model))], data_loader=loader).save(path)


one_process("conv.onnx", "first.json")
one_process("conv_copy.onnx", "second.json")
merged = RunResults()
for path, name in (("first.json", "first"), ("second.json", "second")):
    [(_, iterations)] = RunResults.load(path)
    merged.add([dict(iteration) for iteration in iterations], runner_name=name)
print(list(merged.keys()), [len(iterations) for iterations in merged.values()])
print(bool(Comparator.compare_accuracy(merged, compare_func=CompareFunc.simple(atol=1e-6))))
print(all(np.array_equal(a["y"], b["y"]) for a, b in zip(merged["first"], merged["second"])))
