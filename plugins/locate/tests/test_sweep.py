"""One pass over a model in windows."""

from __future__ import annotations

import pytest
from toymodels import node as operator
from toymodels import number, write

from polycmp_locate.sweep import sweep as module
from polycmp_locate.sweep.sweep import open_way, sweep


def test_a_window_holds_no_tensors_once_the_next_is_asked_for(setting, feed):
    with open_way(setting, feed) as way:
        windows = list(sweep(way).windows)
    assert len(windows) > 1
    assert [name for window in windows for name in window.rows] == [
        name for layer in range(1, 13) for name in (f"h{layer}", "y" if layer == 12 else f"r{layer}")
    ]
    assert not any(window.reference or window.candidate for window in windows)
    assert [list(window.finals) for window in windows][-1] == ["y"]


def test_what_is_looked_at_is_shown_both_sides_of_the_first_tensors_that_differ(setting, feed):
    seen = []
    with open_way(setting, feed) as way:
        for _ in sweep(way, look=seen.append).windows:
            pass
    assert [item.output for item in seen] == ["h5", "r5", "h6", "r6", "h7", "r7", "h8", "r8", "h9", "r9"]


def large(path, weights):
    """y = x * k on as many numbers as asked for."""
    count, factor = weights
    write(path, [operator("Mul", "x k", "y")], {"k": number(factor)}, {"x": ["float32", [count]]})


@pytest.mark.parametrize(("count", "in_float64"), [(2**11 - 1, True), (2**11, False)])
def test_a_model_is_calculated_in_float64_up_to_four_million_numbers(search, monkeypatch, count, in_float64):
    """x and y are `count` numbers each, k is one; the border is held, and tried a thousand times lower."""
    assert module.FLOAT64_ELEMENTS == 2**22
    monkeypatch.setattr(module, "FLOAT64_ELEMENTS", 2**12)
    _, _, rows = search(large, (count, 1), (count, 1))
    assert (rows["y"]["float64"] is not None) is in_float64
