"""Change a model on its way to a backend: extend any loader with a function of your own.

python examples/extend_a_loader.py
"""

from __future__ import annotations

import onnx
from make_demo_model import make_model

from polycmp import func
from polycmp.comparator import Comparator
from polycmp_onnx import ModifyOutputs, OnnxFromBytes
from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx

load_model = OnnxFromBytes(make_model().SerializeToString())


# The function gets what the loader makes. It is still lazy: nothing runs until a runner is activated.
@func.extend(ModifyOutputs(load_model, ["stem.relu", "logits"]))
def with_fewer_outputs(model: onnx.ModelProto) -> None:
    model.doc_string = "only what is of interest"
    print("outputs now:", ", ".join(output.name for output in model.graph.output))


def main() -> None:
    runners = [
        OnnxrtRunner(SessionFromOnnx(with_fewer_outputs), name="changed"),
        OnnxrtRunner(SessionFromOnnx(ModifyOutputs(load_model, ["stem.relu", "logits"]), optimization="off"), "plain"),
    ]
    accuracy = Comparator.compare_accuracy(Comparator.run(runners))
    print(accuracy.describe())
    assert accuracy


if __name__ == "__main__":
    main()
