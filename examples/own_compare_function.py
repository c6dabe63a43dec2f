"""Judge outputs by a rule of your own. On the command line: --compare-func-script own_compare_function.py.

python examples/own_compare_function.py
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from make_demo_model import make_model

from polycmp.comparator import Comparator, DataLoader
from polycmp.spec import Verdict
from polycmp_onnx import OnnxFromBytes, convert_to_fp16
from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx


def same_ranking(candidate: np.ndarray, reference: np.ndarray, *, output: str) -> Verdict:
    """Judge one output: what matters is the three best classes, not their scores."""
    best = [np.argsort(-array, axis=-1)[..., :3] for array in (candidate, reference)]
    differ = int((best[0] != best[1]).any(axis=-1).sum())
    reason = f"{output}: another ranking in {differ} of {len(reference)} images" if differ else ""
    return Verdict(differ == 0, reason, {"images": float(differ)})


def compare_outputs(result: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray]) -> dict[str, bool]:
    """Judge all outputs of an iteration at once, as scripts for Polygraphy do."""
    return {name: bool(same_ranking(array, reference[name], output=name).passed) for name, array in result.items()}


def main() -> None:
    model = make_model()
    half = convert_to_fp16(model)
    runners = [
        OnnxrtRunner(SessionFromOnnx(half.SerializeToString()), "float16"),
        OnnxrtRunner(SessionFromOnnx(OnnxFromBytes(model.SerializeToString())), "float32"),
    ]
    results = Comparator.run(runners, DataLoader(input_shapes={"image": (8, 3, 32, 32)}))
    for function in (same_ranking, compare_outputs):
        accuracy = Comparator.compare_accuracy(results, compare_func=function)
        print(f"{function.__name__}: {accuracy.describe()}")
        assert accuracy
    assert not Comparator.compare_accuracy(results)  # 1e-5 is not what float16 can hold


if __name__ == "__main__":
    main()
