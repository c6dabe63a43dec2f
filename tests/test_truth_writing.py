"""Random models through every command that writes some: what comes out computes what it should; `truth.writing`."""

from __future__ import annotations

import onnx
import pytest

from truth.odd_graphs import checked, odd_model
from truth.writing import EDITS, REFUSED, RIGHT, SKIPPED, WRONG, Bench, page, try_all


@pytest.mark.parametrize(
    "models",
    [range(4), *(pytest.param(range(first, first + 8), marks=pytest.mark.corpus) for first in range(0, 80, 8))],
)
def test_commands_on_random_models(models, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = list(try_all(models, share=0.3))
    assert len(found) > 20
    assert [f"{item.seed}: {item.edit.name}: {item.why}" for item in found if item.end == WRONG] == []
    assert {item.end for item in found} <= {RIGHT, REFUSED, SKIPPED}
    assert "| all |" in page(found, 1.0)


def test_the_models_are_of_all_kinds():
    made = [odd_model(seed) for seed in range(150)]
    assert sum(map(checked, made)) > 100
    nodes = {node.op_type for odd in made for node in odd.model.graph.node}
    assert {"If", "Loop", "Scan", "SequenceConstruct", "Optional", "DequantizeLinear", "Range"} <= nodes
    assert any(odd.model.functions for odd in made) and any(odd.model.ir_version == 3 for odd in made)


def test_what_computes_something_else_is_seen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    odd = odd_model(3)
    bench = Bench(odd, 3, tmp_path)
    monkeypatch.setattr(bench, "_write", lambda words, target, verify: write_other(odd, target))
    assert bench.attempt(EDITS[0]).end == WRONG


def write_other(odd, target):
    made = onnx.ModelProto()
    made.CopyFrom(odd.model)
    last = made.graph.output[0].name
    for node in made.graph.node:
        node.output[:] = ["other" if name == last else name for name in node.output]
        node.input[:] = ["other" if name == last else name for name in node.input]
    made.graph.node.append(onnx.helper.make_node("Neg", ["other"], [last]))
    onnx.save(made, target)
    return 0, ""
