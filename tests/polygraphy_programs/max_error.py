"""Find the position of the largest error in saved results, and print what is around it.

Found in: a script that looks for the largest error of a detector in saved results
"""

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, RunResults

feed = {"x": np.linspace(-1, 1, 192, dtype=np.float32).reshape(1, 3, 8, 8)}
runners = [OnnxrtRunner(SessionFromOnnx("conv_off.onnx"), name="trt-like"), OnnxrtRunner(SessionFromOnnx("conv.onnx"))]
Comparator.run(runners, data_loader=[feed]).save("inference_results_batch.json")

results = RunResults.load("inference_results_batch.json")
runner_names = list(results.keys())
trt_name = next((name for name in runner_names if "trt" in name), None)
onnxrt_name = next((name for name in runner_names if "onnxrt" in name), None)
trt_array, onnxrt_array = results[trt_name][0]["y"], results[onnxrt_name][0]["y"]
abs_diff = np.abs(trt_array - onnxrt_array)
max_idx = np.unravel_index(np.argmax(abs_diff), abs_diff.shape)
print(
    [int(place) for place in max_idx], f"{abs_diff[max_idx]:.6f} {trt_array[max_idx]:.6f} {onnxrt_array[max_idx]:.6f}"
)
slices = tuple(slice(max(0, i - 1), min(size, i + 2)) for i, size in zip(max_idx, abs_diff.shape))
print(np.round(abs_diff[slices], 5).tolist())
