"""Hand the inputs of the command line to another program, as raw files.

Found in: NVIDIA/trt-samples-for-hackathon-cn cookbook/07-Tool/Polygraphy/DebugWorkflow/inputs_to_trtexec.py
"""

import subprocess
from pathlib import Path

import numpy as np
from polygraphy.json import load_json

command = [
    "polygraphy",
    "run",
    "dynamic.onnx",
    "--onnxrt",
    "--input-shapes",
    "ids:[2,3]",
    "mask:[2,3]",
    "--val-range",
    "[0,5]",
    "--save-inputs",
    "in.json",
    "--seed",
    "31193",
]
process = subprocess.run(command, capture_output=True, text=True)
assert process.returncode == 0, process.stderr[-2000:]
for name, value in load_json("in.json")[0].items():
    array = np.ascontiguousarray(value)
    path = Path(f"{name}.{'.'.join(map(str, array.shape))}.{array.dtype}.raw")
    array.tofile(path)
    print(path.name, np.array_equal(np.fromfile(path, dtype=array.dtype).reshape(array.shape), array))
