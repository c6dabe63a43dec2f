"""`polycmp inspect model --save-visual`: a graph that Model Explorer opens, with the errors of `locate`."""

from __future__ import annotations

import json
import re

import onnx
import pytest


@pytest.mark.parametrize("judged", [False, True])
def test_model_explorer_gets_the_graph_and_its_errors(polycmp, model, tmp_path, judged):
    report = {"kind": "locate", "tensors": [{"tensor": "h", "relative_error": 0.25, "passed": False}]}
    (tmp_path / "found.json").write_text(json.dumps(report))
    words = ("--errors", "found.json") if judged else ()
    done = polycmp("inspect", "model", model, "--save-visual", "graph.json", *words)
    assert done.status == 0, done.err
    assert "next: pip install ai-edge-model-explorer && model-explorer graph.json" in done.out
    assert ("--node_data_paths=graph.errors.json" in done.out) == judged
    collection = json.loads((tmp_path / "graph.json").read_text())  # a list of such is refused, as an error on its page
    [graph] = collection["graphs"]
    source = onnx.load(model).graph
    ids = {node["id"] for node in graph["nodes"]}
    assert [node["label"] for node in graph["nodes"]].count("input") == 1
    assert len(graph["nodes"]) == len(source.node) + len(source.output) + 1
    assert all(edge["sourceNodeId"] in ids for node in graph["nodes"] for edge in node["incomingEdges"])
    if not judged:
        assert not (tmp_path / "graph.errors.json").exists()
        return
    data = json.loads((tmp_path / "graph.errors.json").read_text())
    assert [item["value"] for item in data[graph["id"]]["results"].values()] == [0.25]
    builder = pytest.importorskip("model_explorer.node_data_builder", reason="ai-edge-model-explorer")
    known = data[graph["id"]]
    results = {key: builder.NodeDataResult(**value) for key, value in known["results"].items()}
    gradient = [builder.GradientItem(**item) for item in known["gradient"]]
    made = builder.ModelNodeData({graph["id"]: builder.GraphNodeData(results, name=known["name"], gradient=gradient)})
    assert json.loads(made.to_json_string())[graph["id"]]["results"] == known["results"]
    shapes = pytest.importorskip("model_explorer.graph_builder")
    fields = {field.name for field in shapes.dataclasses.fields(shapes.GraphNode)}
    assert all(set(node) <= fields for node in graph["nodes"])


@pytest.mark.parametrize("content", [None, "{", '{"kind": "run"}'])
def test_errors_that_are_no_report(polycmp, model, tmp_path, content):
    if content is not None:
        (tmp_path / "found.json").write_text(content)
    done = polycmp("inspect", "model", model, "--save-visual", "graph.json", "--errors", "found.json")
    assert (done.status, "polycmp locate" in done.err) == (3, True)
    assert not (tmp_path / "graph.json").exists()


def test_statistics_of_saved_outputs_stand_beside_the_tensors(polycmp, model, tmp_path):
    assert polycmp("run", model, "-b", "onnx", "--mark-all", "--save-outputs", "out.json").status == 0
    words = ("--combine-tensor-info", "out.json")
    assert polycmp("inspect", "model", model, *words, "--save-visual", "graph.json").status == 0
    [graph] = json.loads((tmp_path / "graph.json").read_text())["graphs"]
    outputs = [output["attrs"] for node in graph["nodes"] for output in node["outputsMetadata"]]
    keys = {attrs[0]["value"]: [item["key"] for item in attrs] for attrs in outputs}
    assert keys["r"] == ["tensor_name", "type", "min", "max", "mean"]
    shown = polycmp("inspect", "model", model, *words).out
    assert re.search(r"tensor +min +max +mean\n.*\n(.*\n)* +r +\S+ +\S+ +\S+\n", shown)
    described = json.loads(polycmp("inspect", "model", model, *words, "--json").out)
    assert set(described["tensor_info"]) >= {"h", "r", "y"}


def test_a_page_is_refused_and_the_programs_that_draw_are_named(polycmp, model, tmp_path):
    done = polycmp("inspect", "model", model, "--save-visual", "page.html")
    assert (done.status, "Netron" in done.err, "next: --save-visual page.json" in done.err) == (2, True, True)
    assert not (tmp_path / "page.html").exists()


def test_errors_of_no_tensor_of_the_model_write_no_node_data(polycmp, model, tmp_path):
    report = {"kind": "locate", "tensors": [{"tensor": "elsewhere", "relative_error": 0.25, "passed": False}]}
    (tmp_path / "found.json").write_text(json.dumps(report))
    done = polycmp("inspect", "model", model, "--save-visual", "graph.json", "--errors", "found.json")
    assert (done.status, "errors.json" in done.out) == (0, False)
    assert not (tmp_path / "graph.errors.json").exists()
