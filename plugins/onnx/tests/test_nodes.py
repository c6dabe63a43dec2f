"""The reference evaluator over the one-node models of the onnx package."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from polycmp.testing.nodes import NodeCorpus, node_cases
from polycmp_onnx import ReferenceRunner

# Making the 1,439 models takes the onnx package four seconds in each process that asks for them.
pytestmark = pytest.mark.corpus


class TestNodes(NodeCorpus):
    refusals = Path(__file__).with_name("node_refusals.txt")

    def make_runner(self, model):
        return ReferenceRunner(model)


def test_cases_have_one_node_and_arrays_by_name():
    cases = node_cases()
    assert len({case.name for case in cases}) == len(cases)
    for case in cases:
        assert len(case.model.graph.node) == 1
        assert set(case.expected) == {value.name for value in case.model.graph.output}
        assert all(isinstance(array, np.ndarray) for array in (*case.feed.values(), *case.expected.values()))
