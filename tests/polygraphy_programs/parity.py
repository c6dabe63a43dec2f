"""Hold two engines together by the mean, the 99th percentile and the maximum of their difference.

Found in: a parity test of an engine called nova, with ONNX Runtime and TensorRT
"""

import numpy as np
import onnxruntime as ort
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator

preferred = ["CUDAExecutionProvider", "CPUExecutionProvider"]
providers = [provider for provider in preferred if provider in ort.get_available_providers()]
runners = [OnnxrtRunner(SessionFromOnnx(path, providers=providers)) for path in ("conv.onnx", "conv_off.onnx")]


def iter_feed_dicts(num_samples=2, seed=0):
    generator = np.random.default_rng(seed)
    for _ in range(num_samples):
        yield {"x": generator.random((1, 3, 8, 8), dtype=np.float32)}


run_results = Comparator.run(runners, data_loader=iter_feed_dicts())
first_name, first_iterations = run_results[0]
second_name, second_iterations = run_results[1]
print(first_name != second_name, len(first_iterations), len(second_iterations))
for index, (first, second) in enumerate(zip(first_iterations, second_iterations), start=1):
    print(list(first.keys()) == list(second.keys()))
    for name in first.keys():
        one, two = (np.asarray(outputs[name], dtype=np.float32) for outputs in (first, second))
        difference = np.abs(one - two).reshape(-1)
        print(index, name, f"{difference.mean():.4f} {np.percentile(difference, 99):.4f} {difference.max():.4f}")
