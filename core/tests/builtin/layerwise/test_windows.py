"""`polycmp run` on models with many outputs: window after window, in bounded memory."""

from __future__ import annotations

import pytest
from toymodels import straight

TWO = ("-b", "toy", "-b", "plain")


@pytest.mark.parametrize(("length", "in_windows"), [(7, False), (8, True)])
def test_windows_begin_with_eight_outputs(run, tmp_path, length, in_windows):
    """A backend that shows nothing inside is compared by the outputs of the model; without windows it shows all."""
    straight(tmp_path / "m.toy", length, 4)
    _, found = run("-b", "shut", *TWO, "--toy-mark-all")
    note = "shows no tensors inside the model, so only the model's outputs are compared"
    assert (note in found["inference_results"]["shut"]["notes"]) is in_windows
