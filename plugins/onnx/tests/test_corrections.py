"""Operators of the reference evaluator that we correct."""

from __future__ import annotations

from onnx import defs, helper

from polycmp_onnx.corrections import corrections


def test_each_operator_that_is_corrected_has_its_class_in_every_opset():
    """Classes are named by text, and imported for the operators that a model has."""
    operators = {schema.name for schema in defs.get_all_schemas_with_history() if not schema.domain}
    nodes = [helper.make_node(name, [], []) for name in sorted(operators)]
    for opset in range(7, defs.onnx_opset_version() + 1):
        corrected = corrections(nodes, {"": opset})
        assert {item.__name__ for item in corrected} <= operators
        assert len(corrected) > 20
