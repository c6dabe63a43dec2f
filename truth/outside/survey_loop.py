"""Runs one-operator models in a runtime, for `truth.outside.reference_survey`, and keeps what they give.

    python -m truth.outside.survey_loop RUNTIME CASES FILE < KEYS

CASES is a pickle of the cases by their keys. Appends key and outputs of each case to FILE,
    a pickle each; prints a line of JSON that a case is begun, and another
with how it ended.
"""

from __future__ import annotations

import json
import pickle
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from polycmp_onnx.reference import make_evaluator
from truth.operators.case import Case

Outputs = Mapping[str, Any]


def _reference(dtype: str) -> Callable[[Case], Outputs]:
    def run(case: Case) -> Outputs:
        values = make_evaluator(case.model(), dtype=dtype).run(None, dict(case.feed))
        # What an optional holds is in a list of its own.
        opened = [
            value[0] if case.operator.startswith("Optional") and isinstance(value, list) else value for value in values
        ]
        return dict(zip(case.outputs, opened, strict=True))

    return run


def _onnxruntime(case: Case) -> Outputs:
    from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx

    with OnnxrtRunner(SessionFromOnnx(case.model(), optimization="off", threads=1)) as runner:
        return {name: np.array(value) for name, value in runner.infer(dict(case.feed), check_inputs=False).items()}


def _openvino(case: Case) -> Outputs:
    from polycmp_openvino.plugin import Options
    from polycmp_openvino.runner import OpenvinoRunner

    with OpenvinoRunner(case.model(), options=Options(threads=1)) as runner:
        return dict(runner.infer(dict(case.feed), check_inputs=False))


def _torch(case: Case) -> Outputs:
    from truth.operators.counterparts import counterpart

    return dict(zip(case.outputs, counterpart(case), strict=False))


RUNTIMES: dict[str, Callable[[Case], Outputs]] = {
    "onnx": _reference(""),
    "onnx in float64": _reference("float64"),
    "onnxruntime": _onnxruntime,
    "openvino": _openvino,
    "torch": _torch,
}


def run_case(runtime: str, case: Case) -> tuple[Outputs | None, str]:
    """Return the outputs of a case in a runtime, or None and why it has none."""
    try:
        return RUNTIMES[runtime](case), ""
    except Exception as error:  # noqa: BLE001 - whatever a runtime raises is its answer
        why = getattr(error, "why", "") or str(error)
        return None, " ".join(f"{type(error).__name__}: {why}".split())[:300]


def main() -> None:
    """Run the cases whose keys come on standard input."""
    runtime, target = sys.argv[1], Path(sys.argv[3])
    warnings.simplefilter("ignore")
    by_key = pickle.loads(Path(sys.argv[2]).read_bytes())
    said, sys.stdout = sys.stdout, sys.stderr  # runtimes print
    with target.open("ab") as file:
        for key in sys.stdin.read().split():
            print(json.dumps({"file": key, "begun": True}), file=said, flush=True)
            outputs, why = run_case(runtime, by_key[key])
            if outputs is not None:
                pickle.dump((key, dict(outputs)), file)
                file.flush()
            print(json.dumps({"file": key, "refused": why}), file=said, flush=True)


if __name__ == "__main__":
    main()
