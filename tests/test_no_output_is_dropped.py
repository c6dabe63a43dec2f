"""Files that differ: an output that depends on weights alone is compared, and one that a file lacks is missing."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from toys import graph_model

#: So many outputs make a run go through the models in windows.
MANY = tuple(f"y{place}" for place in range(8))


def detector(anchors: float, outputs: tuple[str, ...], steps: int = 1) -> onnx.ModelProto:
    """Return x [2,4] -> Tanh (steps of them) -> + c0, + c1, …; and anchors, which are made of weights alone."""
    node, last = helper.make_node, "x"
    nodes = [node("Mul", ["grid", "stride"], ["anchors"], name="anchors")]
    for step in range(steps):
        nodes.append(node("Tanh", [last], [f"t{step}"], name=f"t{step}"))
        last = f"t{step}"
    nodes += [node("Add", ["t0", f"c{name}"], [name], name=name) for name in MANY]
    weights = [("grid", anchors * np.arange(1, 5, dtype=np.float32)), ("stride", np.float32([1.5]))]
    weights += [(f"c{name}", np.float32([place])) for place, name in enumerate(MANY)]
    ends = [(name, TensorProto.FLOAT, [4] if name == "anchors" else [2, 4]) for name in outputs]
    return graph_model(nodes, [("x", TensorProto.FLOAT, [2, 4])], ends, weights)


@pytest.fixture
def sides(tmp_path):
    def write(new: onnx.ModelProto, old: onnx.ModelProto) -> list[str]:
        onnx.save(new, tmp_path / "new.onnx")
        onnx.save(old, tmp_path / "old.onnx")
        return ["new.onnx", "-b", "onnx:name=new", "-b", "onnx:name=old,model=old.onnx"]

    return write


@pytest.mark.parametrize("more", [(), ("--mark-all",), ("--tolerance", "auto")], ids=" ".join)
@pytest.mark.parametrize("factor, status", [(1.0, 0), (1.5, 1)])
def test_run_compares_an_output_that_is_made_of_weights_alone(polycmp, sides, more, factor, status):
    pair = sides(detector(factor, ("anchors", *MANY), steps=2), detector(1.0, ("anchors", *MANY)))
    said = polycmp("run", *pair, *more)
    assert said.status == status, said.out
    assert status == 0 or "FAIL   anchors" in said.out, said.out


def test_locate_names_the_operator_that_makes_an_output_of_weights_alone(polycmp, sides):
    pair = sides(detector(1.5, ("anchors", *MANY), steps=2), detector(1.0, ("anchors", *MANY)))
    said = polycmp("locate", *pair)
    assert said.status == 1, said.out
    assert "Mul 'anchors'" in said.out, said.out


@pytest.mark.parametrize("lacking", ["anchors", "y7"])
@pytest.mark.parametrize("who", ["new", "old"])
def test_run_of_many_outputs_fails_where_a_file_lacks_one(polycmp, sides, lacking, who):
    few = tuple(name for name in ("anchors", *MANY) if name != lacking)
    models = {"new": detector(1.0, ("anchors", *MANY), steps=2), "old": detector(1.0, ("anchors", *MANY))}
    models[who] = detector(1.0, few, steps=2 if who == "new" else 1)
    said = polycmp("run", *sides(models["new"], models["old"]))
    assert said.status == 1, said.out
    assert f"{who} has no output '{lacking}'" in said.out, said.out
