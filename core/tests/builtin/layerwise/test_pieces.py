"""Dividing operators that a backend refuses together, with attempts that each may take as long as a build."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from polycmp.builtin.layerwise.pieces import Forecast, Piece, run_in_pieces, shape_tensors
from polycmp.graph import GraphNode

COUNT = 64


class Backend:
    """Refuses some operators' outputs, and more than so many operators together; counts those of all attempts."""

    def __init__(self, refused=(), most=COUNT, cannot_end=()):
        self.refused, self.most, self.cannot_end = set(refused), most, set(cannot_end)
        self.attempts, self.pieces, self.made = [], [], 0

    def __call__(self, piece):
        assert piece.start == (self.pieces[-1].stop if self.pieces else 0)
        self.attempts.append(piece)
        self.made += piece.stop - piece.start
        if piece.shown and (piece.stop - piece.start > self.most or self.refused & set(range(*piece[:2]))):
            return False
        if piece.stop in self.cannot_end:
            return False
        self.pieces.append(piece)
        return True

    def go(self, most=math.inf, crossing=lambda _: 1, smallest=1):
        return run_in_pieces(self, 0, COUNT, crossing, most, smallest)

    def shown(self):
        return {index for piece in self.pieces if piece.shown for index in range(piece.start, piece.stop)}


@settings(deadline=None)
@given(st.sets(st.integers(0, COUNT - 1), max_size=4), st.integers(1, COUNT))
def test_everything_but_what_is_refused_is_shown(refused, most):
    backend = Backend(refused, most)
    assert backend.go()
    assert backend.pieces[-1].stop == COUNT
    assert backend.shown() == set(range(COUNT)) - refused


def test_a_small_piece_is_not_divided_where_that_is_asked():
    backend = Backend(refused=[21])
    assert backend.go(smallest=4)
    [hidden] = [piece for piece in backend.pieces if not piece.shown]
    assert hidden.start <= 21 < hidden.stop <= hidden.start + 4
    assert min(piece.stop - piece.start for piece in backend.attempts) >= 2


def test_pieces_are_as_large_as_the_backend_takes():
    backend = Backend(most=20)
    assert backend.go()
    assert len(backend.pieces) <= 5
    assert backend.made <= 3 * COUNT


@settings(deadline=None)
@given(st.sets(st.integers(0, COUNT - 1)), st.integers(1, 4 * COUNT))
def test_it_ends_after_so_many_attempts_with_all_operators_run(refused, most):
    backend = Backend(refused)
    assert backend.go(most)
    assert backend.pieces[-1].stop == COUNT
    assert not backend.shown() & refused
    assert backend.made <= 1.5 * most + 3 * COUNT  # the last attempts, and what is left as one


def test_attempts_are_shared_among_the_operators():
    """Refusals at the beginning do not take what the rest needs."""
    backend = Backend(range(8))
    assert backend.go(3 * COUNT)
    assert set(range(32, COUNT)) <= backend.shown()


def test_a_piece_ends_only_where_the_model_can_be_cut():
    backend = Backend(most=10)
    assert backend.go(crossing=lambda position: None if position % 8 else 1)
    assert all(piece.stop % 8 == 0 for piece in backend.pieces)


def test_a_piece_ends_where_the_fewest_tensors_cross():
    backend = Backend(most=10)
    assert backend.go(crossing=lambda position: 1 if position % 7 == 0 else 3)
    assert sum(piece.stop % 7 == 0 for piece in backend.pieces) >= 5
    assert backend.shown() == set(range(COUNT))


def test_a_place_at_which_the_backend_cannot_end_is_passed():
    backend = Backend({5}, cannot_end={5, 6, 7, 8, 9})
    assert backend.go()
    assert {*range(5), *range(16, COUNT)} <= backend.shown() | {*range(5)}
    assert backend.pieces[-1].stop == COUNT


def test_a_backend_that_runs_nothing_is_not_asked_for_long():
    backend = Backend(cannot_end=range(COUNT + 1))
    assert not backend.go()
    assert len(backend.attempts) < 20


class Graph:
    """What `shape_tensors` reads of a graph."""

    def __init__(self, nodes, inputs, weights=()):
        self.nodes, self.inputs = nodes, dict.fromkeys(inputs)
        self.weights = dict.fromkeys(weights, 4)


def test_what_shapes_decide():
    nodes = [
        GraphNode("Shape", inputs=("x",), outputs=("s",)),
        GraphNode("Gather", inputs=("s", "zero"), outputs=("n",)),
        GraphNode("Relu", inputs=("x",), outputs=("r",)),
        GraphNode("Shape", inputs=("r",), outputs=("inner",)),
        GraphNode("Add", inputs=("n", "inner"), outputs=("both",)),
        GraphNode("Mul", inputs=("zero", "zero"), outputs=("static",)),
    ]
    known = frozenset({"x"})
    assert shape_tensors(Graph(nodes, ["x"], ["zero"])) == {"s": known, "n": known, "inner": None, "both": None}


def test_a_forecast_goes_by_what_was_built_last():
    forecast = Forecast()
    assert forecast.text(10) == ""
    forecast.learn(100, 20.0)
    assert forecast.text(100) == ", about 20 s"
    assert forecast.text(50) == ", about 10 s"
    forecast.learn(10, 4.0)
    assert forecast.seconds(12) == 4.8
    assert forecast.text(1) == ""
    assert Piece(0, 3, True).shown
