"""`surgeon sanitize` over ONNX's one-node models: what comes out is valid and computes the same on ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from polycmp_onnx.tools.frame import complaint
from polycmp_onnx.tools.sanitize import sanitize
from polycmp_onnx.tools.surgeon_sections import FoldSection, SanitizeSection

#: Making the cases takes nine seconds; `test_surgeon.py` sanitizes models of several operators in `make test`.
pytestmark = pytest.mark.corpus
onnxruntime = pytest.importorskip("onnxruntime")

PARTS = 12


@pytest.fixture(scope="module")
def cases():
    """Every twentieth of ONNX's cases whose inputs are tensors, besides those of operators spelled out as functions."""
    from onnx.backend.test.case.node import collect_testcases

    found = [case for case in collect_testcases(None) if "_expanded" not in case.name and case.data_sets]
    return [case for case in found[::20] if all(isinstance(item, np.ndarray) for item in case.data_sets[0][0])]


def outputs_of(model, feed):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = {item.name for item in session.get_inputs()}
    return session.run(None, {name: array for name, array in feed.items() if name in names})


def variants(case):
    """The model as it is, and with all its inputs but the first as weights."""
    names = [item.name for item in case.model.graph.input]
    feed = dict(zip(names, case.data_sets[0][0], strict=False))
    yield case.model, feed
    if len(feed) > 1:
        fixed = onnx.ModelProto()
        fixed.CopyFrom(case.model)
        fixed.ir_version = max(fixed.ir_version, 4)
        fixed.graph.initializer.extend(numpy_helper.from_array(feed[name], name) for name in list(feed)[1:])
        del fixed.graph.input[1:]
        yield fixed, feed


@pytest.mark.parametrize("part", range(PARTS))
def test_sanitized_models_compute_the_same(cases, part):
    compared = 0
    for case in cases[part::PARTS]:
        for model, feed in variants(case):
            try:
                wanted = outputs_of(model, feed)
            except Exception:  # ONNX Runtime has no kernel for everything that ONNX has
                continue
            made = onnx.ModelProto()
            made.CopyFrom(model)
            sanitize(made, SanitizeSection(cleanup=True, toposort=True), FoldSection(fold_constants=True), {}, print)
            assert complaint(made) == complaint(model), case.name
            for one, other in zip(wanted, outputs_of(made, feed), strict=True):
                if isinstance(one, np.ndarray) and one.dtype.kind in "fc":
                    narrow = one.dtype == np.float16
                    np.testing.assert_allclose(
                        other, one, *((2e-3, 2e-3) if narrow else (1e-5, 1e-5)), err_msg=case.name
                    )
                elif isinstance(one, np.ndarray):
                    np.testing.assert_array_equal(other, one, err_msg=case.name)
            compared += 1
    assert compared
