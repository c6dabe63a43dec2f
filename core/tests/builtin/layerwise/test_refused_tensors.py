"""Tensors that a backend refuses to show, although it runs the model."""

from __future__ import annotations

from toymodels import residual


def test_a_backend_that_refuses_some_tensors_shows_the_others(run, tmp_path):
    residual(tmp_path / "m.toy")
    done, found = run("-b", "toy:name=shy,hides=[b,sf]", "-b", "plain", "--toy-mark-all")
    assert done.status == 0
    compared = {"ww", "a", "left", "right", "rows", "c", "y"}  # not s either: whole numbers are given up first
    assert set(found["comparison_results"][0]["outputs"]) == compared
    [note] = found["inference_results"]["shy"]["notes"]
    assert "does not show 3 tensors inside the model, not compared: 'b', 's', 'sf'" in note
