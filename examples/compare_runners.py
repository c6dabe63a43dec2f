"""Run one model on two backends and compare every output.

python examples/compare_runners.py
"""

from __future__ import annotations

from make_demo_model import make_model

from polycmp.comparator import Comparator, CompareFunc, DataLoader
from polycmp_onnx import OnnxFromBytes, ReferenceRunner
from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx


def main() -> None:
    # Loaders describe the work; nothing is loaded before a runner is activated.
    load_model = OnnxFromBytes(make_model().SerializeToString())
    runners = [OnnxrtRunner(SessionFromOnnx(load_model)), ReferenceRunner(load_model)]

    # The same seed gives the same inputs, here and on the command line. The last runner is the reference.
    results = Comparator.run(runners, DataLoader(iterations=3, input_shapes={"image": (2, 3, 32, 32)}))
    accuracy = Comparator.compare_accuracy(results, compare_func=CompareFunc.simple(atol=1e-5, rtol=1e-4))

    print(accuracy.describe())
    for name, verdict in next(iter(accuracy.values()))[0].items():
        print(f"{name}: {verdict.candidate_type}, {'equal' if verdict.passed else verdict.reason}")
    assert accuracy


if __name__ == "__main__":
    main()
