"""Every loader has an immediate twin: the class is lazy, the function in lower case does the work at once.

python examples/immediate_evaluation.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import onnx
from make_demo_model import make_model

from polycmp.loader import bytes_from_path
from polycmp_onnx import convert_to_fp16, extract_subgraph, modify_outputs, onnx_from_path, save_onnx
from polycmp_onnxrt import OnnxrtRunner, session_from_onnx


def main(folder: Path) -> None:
    path = str(folder / "demo.onnx")
    onnx.save(make_model(), path)

    # Each line returns the thing itself, so it can be looked at and changed between two steps.
    model = onnx_from_path(path)
    print(f"{len(bytes_from_path(path))} bytes, {len(model.graph.node)} nodes")
    every_tensor = modify_outputs(model, outputs=["*"])
    print(f"{len(every_tensor.graph.output)} tensors can be compared")
    save_onnx(convert_to_fp16(model), str(folder / "half.onnx"))

    # What you made yourself is yours: a runner that is given a session leaves it alive.
    session = session_from_onnx(str(folder / "half.onnx"))
    for _ in range(2):
        with OnnxrtRunner(session) as runner:
            outputs = runner.infer({"image": np.ones((1, 3, 32, 32), np.float32)})
    print(f"the half of it: class {int(outputs['probabilities'].argmax())}")

    stem = extract_subgraph(model, outputs=["stem.relu"])
    print(f"{len(stem.graph.node)} nodes lead to stem.relu")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(temporary))
