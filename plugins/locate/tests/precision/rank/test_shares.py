"""Which share of the outputs' error each layer causes, on figures that are made up."""

from __future__ import annotations

import pytest

from polycmp_locate.precision.rank.result import LayerFigures, Powers
from polycmp_locate.precision.rank.shares import estimate_shares


class Layer:
    """What a layer reads."""

    def __init__(self, *inputs):
        self.inputs = inputs


def shares(*layers, outputs=("y",)):
    """Return the shares of layers, each given by what it reads, what it makes, and the figures of that."""
    figures = [LayerFigures(Layer(*reads.split()), 0.0, powers={made: powers}) for reads, made, powers in layers]
    estimate_shares(figures, outputs)
    return [item.share for item in figures]


def test_errors_of_a_chain_add_up_to_that_of_the_outputs():
    """`a` is off by 3; all of that comes through the second layer, which is off by 1 itself."""
    found = shares(("x", "a", Powers(100.0, 3.0, 3.0)), ("a", "y", Powers(100.0, 1.0, 4.0)))
    assert found == pytest.approx([0.75, 0.25])


def test_what_a_layer_hardly_lets_through_counts_little_and_yet_a_hundredth():
    """Of an error of 3 before it, only 0.1 is left behind the layer that adds 1."""
    one, two = Powers(100.0, 3.0, 3.0), Powers(100.0, 1.0, 1.1)
    assert shares(("x", "a", one), ("a", "y", two)) == pytest.approx([0.1 / 1.1, 1 / 1.1])
    swallowed = Powers(100.0, 1.0, 1.0)
    assert shares(("x", "a", one), ("a", "y", swallowed)) == pytest.approx([0.01 / 1.01, 1 / 1.01])


def test_an_error_counts_on_all_ways_to_the_outputs_and_not_beside_them():
    a, arrived = Powers(100.0, 2.0, 2.0), Powers(100.0, 0.0, 2.0)
    layers = (("x", "a", a), ("a", "y", arrived), ("a", "z", arrived), ("x", "b", Powers(1.0, 50.0, 50.0)))
    assert shares(*layers, outputs=("y", "z")) == [1.0, 0.0, 0.0, 0.0]


def test_outputs_count_by_their_own_signal():
    found = shares(("x", "y", Powers(100.0, 1.0, 1.0)), ("x", "z", Powers(1.0, 1.0, 1.0)), outputs=("y", "z"))
    assert found == pytest.approx([1 / 101, 100 / 101])


def test_an_infinite_error_is_a_very_large_one():
    found = shares(("x", "y", Powers(1.0, float("inf"), float("inf"))), ("x", "z", Powers(1.0, 1.0, 1.0)), outputs="yz")
    assert found == pytest.approx([1 - 1e-6, 1e-6])


def test_without_an_error_no_layer_has_a_share():
    assert shares(("x", "y", Powers(1.0, 0.0, 0.0)), ("y", "z", Powers(0.0, 0.0, 0.0)), outputs=("z",)) == [0.0, 0.0]
