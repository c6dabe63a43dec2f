"""Files of safetensors, also where the package is not installed."""

from __future__ import annotations

import numpy as np
import pytest
from saved_data import FEED, NEEDS_SAFETENSORS, same, write_inputs

from polycmp.errors import PluginError
from polycmp.results.files import open_inputs


@NEEDS_SAFETENSORS
def test_safetensors_that_others_made_are_one_iteration(tmp_path):
    from safetensors.numpy import save_file

    tensors = {"w": FEED["x"], "b": FEED["bfloat16"]}
    save_file(tensors, tmp_path / "w.safetensors")
    [feed] = open_inputs([tmp_path / "w.safetensors"])
    assert [key for key in tensors if not same(tensors[key], feed[key])] == []


@NEEDS_SAFETENSORS
@NEEDS_SAFETENSORS
def test_safetensors_are_read_in_the_order_of_the_numbers_in_their_names(tmp_path):
    from safetensors.numpy import save_file

    names = [f"round_{number}.layer_{layer}.hidden" for number in (2, 10) for layer in (0, 9, 10)]
    save_file({name: np.zeros(1, np.float32) for name in reversed(names)}, tmp_path / "w.safetensors")
    [feed] = open_inputs([tmp_path / "w.safetensors"])
    assert list(feed) == names


def test_safetensors_without_the_package_names_the_command_to_install_it(tmp_path, monkeypatch):
    (tmp_path / "a.safetensors").touch()
    monkeypatch.setattr("polycmp.plugins.registry._exists", lambda name: name != "safetensors")
    for use in (lambda: open_inputs([tmp_path / "a.safetensors"]), lambda: write_inputs(tmp_path / "b.safetensors")):
        with pytest.raises(PluginError, match="safetensors") as caught:
            use()
        assert caught.value.hint == "pip install 'polycmp[safetensors]' (or its extra [full])"
        assert "safetensors" in caught.value.whose
    assert [file.name for file in tmp_path.iterdir()] == ["a.safetensors"]
