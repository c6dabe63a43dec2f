"""`surgeon sanitize`: what it folds, sorts and leaves, and that what comes out computes the same."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from surgeon_models import X, checked, model_of, same, value, weight

from polycmp_onnx.tools.frame import complaint
from polycmp_onnx.tools.sanitize import sanitize
from polycmp_onnx.tools.surgeon_sections import FoldSection, SanitizeSection


def test_sanitize_folds_what_does_not_depend_on_the_inputs(polycmp, chain, tmp_path):
    done = polycmp("surgeon", "sanitize", "model.onnx", "--fold-constants", "-o", "out.onnx")
    assert done.status == 0, done.err
    made = checked(tmp_path / "out.onnx")
    assert [node.op_type for node in made.graph.node] == ["MatMul", "Relu", "Reshape"]  # one known dimension is enough
    assert made.opset_import == chain.opset_import
    assert made.metadata_props == chain.metadata_props
    same(chain, made, X)


def test_sanitize_leaves_shapes_and_large_results_if_told_so(polycmp, chain, tmp_path):
    words = ("--fold-constants", "--no-fold-shapes", "--fold-size-threshold", "16")
    assert polycmp("surgeon", "sanitize", "model.onnx", *words, "-o", "out.onnx").status == 0
    kinds = [node.op_type for node in checked(tmp_path / "out.onnx").graph.node]
    assert {"Shape", "Gather", "Add"} <= set(kinds)


def test_sanitize_finds_shapes_by_running(polycmp, chain, tmp_path):
    assert (
        polycmp("surgeon", "sanitize", "model.onnx", "--force-fallback-shape-inference", "-o", "out.onnx").status == 0
    )
    known = {item.name for item in checked(tmp_path / "out.onnx").graph.value_info}
    assert {"m", "r", "t"} <= known


def test_fold_options_alone_are_told_to_do_nothing(polycmp, chain):
    done = polycmp("surgeon", "sanitize", "model.onnx", "--num-passes", "2", "-o", "out.onnx")
    assert (done.status, "no effect without --fold-constants" in done.err) == (0, True)


def test_weights_at_the_border_of_what_a_structure_keeps_are_no_fault(polycmp, tmp_path):
    """A file's structure is read without large weights; 4096 bytes are as many as its check still took for small."""
    rng = np.random.default_rng(1)
    weights = [weight("w", rng.random((32, 32), np.float32)), weight("v", rng.random((32, 16384), np.float32))]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("MatMul", ["h", "v"], ["y"])]
    onnx.save(model_of(nodes, [value("x", [2, 32])], [value("y", [2, 16384])], weights), tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").stat().st_size > 1 << 20
    done = polycmp("surgeon", "sanitize", "m.onnx", "--fold-constants", "-o", "s.onnx")
    assert done.status == 0, done.err
    assert polycmp("convert", "m.onnx", "--fp-to-fp16", "-o", "h.onnx").status == 0


PARTS = 12


@pytest.fixture(scope="module")
def cases():
    """Every twentieth of ONNX's cases whose inputs are tensors, besides those of operators spelled out as functions."""
    pytest.importorskip("onnxruntime")
    from onnx.backend.test.case.node import collect_testcases

    found = [case for case in collect_testcases(None) if "_expanded" not in case.name and case.data_sets]
    return [case for case in found[::20] if all(isinstance(item, np.ndarray) for item in case.data_sets[0][0])]


def outputs_of(model, feed):
    import onnxruntime

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


@pytest.mark.corpus
@pytest.mark.parametrize("part", range(PARTS))
def test_sanitized_models_compute_the_same(cases, part):
    """ONNX's one-node models; making them takes nine seconds, so that `make test` leaves them out."""
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
