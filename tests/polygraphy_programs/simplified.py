"""Simplify an export in place by the command line before it is parsed.

Found in: NVIDIA/trt-samples-for-hackathon-cn cookbook, where a graph is changed by Polygraphy and os.system
"""

import os

import onnx

before, after = "foldable.onnx", "foldable-p.onnx"
print(os.system(f"polygraphy surgeon sanitize --fold-constant {before} -o {after} > log.txt 2>&1"))
print([node.op_type for node in onnx.load(after).graph.node])
