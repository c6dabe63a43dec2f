"""`inspect data`, as a user sees it."""

from __future__ import annotations

from saved_data import inputs, outputs


def test_what_is_in_a_file(polycmp, tmp_path):
    inputs(tmp_path / "in.npz", {"x": 1}, {"x": 2})
    outputs(tmp_path / "out.json", "one", 1, 2)
    shown = polycmp("inspect", "data", "out.json").out
    assert "---- one (2 iterations) ----" in shown
    assert "o [int64[3]] mean=1" in shown
    assert "mean=2" not in shown
    shown = polycmp("inspect", "data", "in.npz", "--all", "-s", "--histogram", "-n", "-1").out
    assert ("iteration 1" in shown, "[[2. 2.]]" in shown, "#" in shown) == (True, True, True)
