"""Dumps of a decoder, whose names hold rounds and layers."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.cli.main import run
from polycmp_generate.dumps import place_of


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("round_3.layer_12.hidden", (3, 12)),
        ("step3/model.layers.12.hidden_states", (3, 12)),
        ("Token-0:h.1.attn", (0, 1)),
        ("transformer.h.4.step_11", (11, 4)),
        ("layer_12.hidden", None),
        ("round_3.hidden", None),
        ("background_3.player_4", None),
    ],
)
def test_rounds_and_layers_are_read_from_names(name, place):
    assert place_of(name) == place


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_the_first_round_and_layer_is_told(tmp_path, monkeypatch, capsys, suffix):
    random = np.random.default_rng(0)
    old = {f"round_{n}.layer_{k}.out": random.normal(size=8).astype(np.float32) for n in range(11) for k in range(3)}
    late = [name for name in old if name.startswith(("round_10.", "round_9.layer_2"))]
    new = {name: array * np.float32(1.5) if name in late else array for name, array in old.items()}
    if suffix == "npz":
        np.savez(tmp_path / "old.npz", **old)
        np.savez(tmp_path / "new.npz", **new)
    else:
        save_file = pytest.importorskip("safetensors.numpy").save_file
        save_file(old, tmp_path / "old.safetensors")
        save_file(new, tmp_path / "new.safetensors")
    monkeypatch.chdir(tmp_path)
    assert run(["compare", f"new.{suffix}", f"old.{suffix}"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "new leaves old first in round 9, layer 2: 'round_9.layer_2.out', behind 29 places that agree" in said
    assert "4 of 33 differ" in said
    assert run(["compare", f"old.{suffix}", f"old.{suffix}"]) == 0
    assert "leaves" not in capsys.readouterr().out
