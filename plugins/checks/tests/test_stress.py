"""`--data-loader stress` on the toy box."""

from __future__ import annotations

from toymodels import node, write

from polycmp.json import load_json


def test_each_kind_comes_with_each_seed_and_open_dimensions_take_sizes(polycmp, tmp_path):
    write(tmp_path / "m.toy", [node("Relu", "x", "y")], {}, {"x": ["float32", ["n", 4]]})
    words = "--data-loader stress --stress-kinds signed tiny --stress-seeds 1 2 --stress-sizes 3"
    done = polycmp(
        "run", "m.toy", "-b", "toy", "-b", "plain", *words.split(), "--save-inputs", "i.json", "--report", "r.json"
    )
    assert done.status == 0, done.err
    assert done.report()["inference_results"]["toy"]["iterations"] == 4
    assert {feed["x"].shape for feed in load_json(tmp_path / "i.json")} == {(3, 4)}
