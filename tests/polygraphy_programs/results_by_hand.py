"""Put the outputs of another program beside those of a runner."""

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, IterationResult, RunResults

feed = {"x": np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)}
results = Comparator.run([OnnxrtRunner(SessionFromOnnx("identity.onnx"), name="onnxrt")], data_loader=[feed])
results.add([{"y": feed["x"].copy()}], runner_name="pytorch")
results["by-hand"] = [IterationResult(outputs={"y": feed["x"] + 1}, runtime=0.1, runner_name="by-hand")]
print(len(results), list(results.keys())[1:], "pytorch" in results)
print(bool(Comparator.compare_accuracy(results, comparisons=[(0, 1)])))
print(bool(Comparator.compare_accuracy(results, comparisons=[(1, 2)])))
results.save("all.json")
loaded = RunResults.load("all.json")
print(loaded["by-hand"][0]["y"].tolist(), loaded["by-hand"][0].runtime)
