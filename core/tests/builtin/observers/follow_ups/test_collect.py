"""The commands to type after a run: that outputs of other names belong together is one of them."""

from __future__ import annotations

from toymodels import node, write

FOUR = {"x": ["float32", [4]]}


def test_outputs_of_other_names_and_shapes(polycmp, tmp_path):
    write(tmp_path / "m.toy", [node("Identity", "x", "y")], inputs=FOUR)
    write(tmp_path / "o.toy", [node("Add", "x k", "z")], {"k": {"dtype": "float32", "shape": [1, 4], "values": 0}},
          FOUR, ["z"])  # fmt: skip
    words = ("run", "m.toy", "-b", "toy", "-b", "plain:model=o.toy")
    assert polycmp(*words).status == 3
    assert polycmp(*words, "--map-output", "y=z").status == 1
    done = polycmp(*words, "--map-output", "y=z", "--no-shape-check")
    assert done.status == 0, done.out
