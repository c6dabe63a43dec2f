"""Reduce a model with the command line, and read the record of it.

Found in: NVIDIA/trt-samples-for-hackathon-cn cookbook/07-Tool/Polygraphy/DebugWorkflow/autoreduce.py
"""

import json
import subprocess
from pathlib import Path

import onnx

command = [
    "polygraphy",
    "debug",
    "reduce",
    "conv.onnx",
    "--output",
    "reduced.onnx",
    "--model-input-shapes",
    "x:[1,3,8,8]",
    "--save-debug-replay",
    "replay.json",
    "--artifacts",
    "polygraphy_debug.onnx",
    "--art-dir",
    "kept",
    "--fail-regex",
    "Op: Relu",
    "--check",
    "polygraphy",
    "inspect",
    "model",
    "polygraphy_debug.onnx",
    "--show",
    "layers",
]
process = subprocess.run(command, capture_output=True, text=True)
print(process.returncode, [node.op_type for node in onnx.load("reduced.onnx").graph.node])
print(
    len(list(Path("kept").rglob("*.onnx"))) > 0,
    Path("replay.json").exists(),
    len(json.loads(Path("replay.json").read_text())) > 0,
)
