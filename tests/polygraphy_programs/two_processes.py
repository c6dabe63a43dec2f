"""Save a run from Python, another from the command line, and compare them.

Found in: NVIDIA/trt-samples-for-hackathon-cn cookbook/07-Tool/Polygraphy/More/09-SavedInputsAndResults
"""

import subprocess

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, CompareFunc, RunResults
from polygraphy.json import load_json
from polygraphy.logger import G_LOGGER

G_LOGGER.module_severity = G_LOGGER.ERROR
results = Comparator.run([OnnxrtRunner(SessionFromOnnx("conv.onnx"), name="ort")], save_inputs_path="inputs.json")
results.save("outputs.json")
loaded = load_json("inputs.json")
print(type(loaded).__name__, len(loaded), list(loaded[0].keys()), list(RunResults.load("outputs.json").keys()))
command = [
    "polygraphy",
    "run",
    "conv.onnx",
    "--onnxrt",
    "--save-outputs",
    "cli.json",
    "--save-inputs",
    "cli-inputs.json",
]
print(subprocess.run(command, capture_output=True, text=True).returncode)
cli = RunResults.load("cli.json")
print(np.array_equal(loaded[0]["x"], load_json("cli-inputs.json")[0]["x"]))
merged = RunResults()
merged.add(list(results["ort"]), runner_name="python")
merged.add(list(cli[list(cli.keys())[0]]), runner_name="cli")
print(list(merged.keys()), bool(Comparator.compare_accuracy(merged, compare_func=CompareFunc.simple(atol=1e-5))))
