"""Read saved results as plain JSON, and decode one array at a time.

Found in: a deployment of Sparse4D
"""

import json
import subprocess

import numpy as np
from polygraphy import json as pjson

subprocess.run(
    ["polygraphy", "run", "conv.onnx", "--onnxrt", "--onnx-outputs", "mark", "all", "--save-results=out.json"],
    check=True,
    capture_output=True,
)
with open("out.json") as file:
    outputs = json.load(file)["lst"][0][1][0]["outputs"]
print(len(outputs.keys()))
for layer, value in outputs.items():
    print(layer, np.size(pjson.from_json(json.dumps(value)).arr))
