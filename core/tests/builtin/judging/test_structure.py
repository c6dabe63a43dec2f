"""What is asked of any model seen as a graph, here of models of the toy box."""

from __future__ import annotations

import pytest
from toymodels import residual, small

from polycmp.builtin.judging.structure import final_outputs, makers, same_structure, static_tensors
from polycmp.plugins import Registry


@pytest.fixture
def graph(toybox, tmp_path):
    """Return what makes a graph of a model, with other outputs where some are given."""
    from toybox.graph import ToyGraph
    from toybox.model import parse

    from polycmp.model import Model, ModelSettings

    registry = Registry.discover({})

    def make(write, outputs=(), **options):
        path = write(tmp_path / f"{write.__name__}{options.get('seed', 0)}.toy", **options)
        found = Model(str(path), registry, ModelSettings({}, {}, None, "")).graph()
        return found if not outputs else ToyGraph(lambda: parse(found.mark(outputs)().dumps(), "m"))

    return make


def test_what_depends_on_weights_alone_a_part_computes_for_itself(graph):
    assert static_tensors(graph(residual)) == {"w", "ww"}


def test_who_makes_a_tensor(graph):
    assert makers(graph(small).nodes) == {"h": 0, "r": 1, "y": 2}


@pytest.mark.parametrize(
    ("outputs", "final"),
    [(("y",), ("y",)), (("r",), ("r",)), (("h", "r", "y"), ("y",)), (("h", "r"), ("h", "r"))],
)
def test_outputs_that_are_there_only_because_all_tensors_were_asked_for_are_no_final_ones(graph, outputs, final):
    assert final_outputs(graph(small, outputs)) == final


def test_two_models_are_one_structure_whatever_their_weights(graph):
    assert same_structure(graph(small, seed=0), graph(small, seed=1))
    assert not same_structure(graph(small), graph(residual))
