"""`polycmp inspect model --save-visual`: one page, offline, clickable, coloured by error; looked at in Chromium."""

from __future__ import annotations

import html
import json
import re

import browser
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


def graph_in(page):
    text = re.search(r'<script type="application/json" id="graph">(.*?)</script>', page, re.DOTALL)
    return json.loads(text[1])


def opened(path, script=""):
    """Return the document as Chromium has it after the page and a script ran, and what it complained of."""
    page = path.with_name("opened.html")
    text = path.read_text(encoding="utf-8")
    if script:  # which the page's own policy would not let run
        text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
        text = text.replace("</body>", f"<script>{script}</script></body>")
    page.write_text(text, encoding="utf-8")
    switches = ("--virtual-time-budget=20000", "--window-size=1200,800", "--dump-dom")
    done = browser.opened(page, *switches, timeout=200)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def long_model(count):
    """A model with skip connections, as deep as it has nodes."""
    nodes = [helper.make_node("Relu", ["x"], ["t0"], "n0")]
    for index in range(1, count):
        other = f"t{index - 9}" if index % 7 == 0 and index > 9 else "w"
        nodes.append(helper.make_node("Add", [f"t{index - 1}", other], [f"t{index}"], f"n{index}"))
    nodes[-1].output[0] = "y"
    graph = helper.make_graph(
        nodes,
        "deep",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])],
        [numpy_helper.from_array(np.ones(4, np.float32), "w")],
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def test_the_page_holds_the_graph_and_refers_to_nothing_outside(polycmp, model, tmp_path):
    done = polycmp("inspect", "model", model, "--save-visual", "page.html")
    assert (done.status, "wrote page.html" in done.out) == (0, True), done.err
    page = (tmp_path / "page.html").read_text()
    found = graph_in(page)
    source = onnx.load(model).graph
    drawn = [node for node in found["nodes"] if node["kind"] == "operator"]
    assert [node["name"] for node in drawn] == [node.name for node in source.node]
    assert {(edge["tensor"]) for edge in found["edges"]} >= {"h", "r", "y"}
    assert not re.search(r"""(src|href)=|@import|url\(|fetch\(|XMLHttp""", page)
    assert "default-src 'none'" in html.unescape(page)


def test_errors_of_locate_colour_the_nodes(polycmp, model, tmp_path):
    report = {
        "kind": "locate",
        "sentence": "the <first> goes wrong",
        "origin": "r",
        "tensors": [
            {"tensor": "h", "relative_error": 0.0, "passed": True},
            {"tensor": "r", "relative_error": "inf", "passed": False, "reason": "why"},
        ],
    }
    (tmp_path / "found.json").write_text(json.dumps(report))
    done = polycmp("inspect", "model", model, "--save-visual", "page.html", "--errors", "found.json")
    assert done.status == 0, done.err
    page = (tmp_path / "page.html").read_text()
    nodes = {name: node for node in graph_in(page)["nodes"] for name in node["outputs"]}
    assert nodes["h"]["error"] == 0 < nodes["r"]["error"]
    assert (nodes["r"].get("first"), nodes["h"].get("first")) == (True, None)
    assert "the &lt;first&gt; goes wrong" in page
    document, complaints = opened(tmp_path / "page.html")
    assert complaints == []
    assert len(re.findall(r'class="node operator judged', document)) == 2
    colours = re.findall(r'class="node operator judged[^"]*".*?fill: ([^;"]+)', document)
    assert len(set(colours)) == 2
    assert "why" in html.unescape(document).partition('id="details"')[2].partition("<main>")[0]  # chosen at once


@pytest.mark.parametrize("content", [None, "{", '{"kind": "run"}'])
def test_errors_that_are_no_report(polycmp, model, tmp_path, content):
    if content is not None:
        (tmp_path / "found.json").write_text(content)
    done = polycmp("inspect", "model", model, "--save-visual", "page.html", "--errors", "found.json")
    assert (done.status, "polycmp locate" in done.err) == (3, True)
    assert not (tmp_path / "page.html").exists()


def test_a_click_on_a_node_and_on_a_name_shows_what_it_is(polycmp, model, tmp_path):
    assert polycmp("inspect", "model", model, "--save-visual", "page.html").status == 0
    maker = {name: node.name for node in onnx.load(model).graph.node for name in node.output}
    click = f"""
        const named = (name) => [...document.querySelectorAll('.node')].find((node) =>
          node.querySelector('title').textContent === name);
        named({json.dumps(maker["y"])}).dispatchEvent(new MouseEvent('click', {{bubbles: true}}));
        document.body.dataset.chosen = document.querySelector('#details h2').textContent;
        [...document.querySelectorAll('#details button')].find((button) => button.textContent === 'r').click();
        document.body.dataset.then = document.querySelector('#details h2').textContent;
        const search = document.querySelector('input');
        search.value = 'matmul';
        search.dispatchEvent(new Event('input'));
        document.body.dataset.found = document.querySelectorAll('#found button').length;
    """
    document, complaints = opened(tmp_path / "page.html", click)
    assert complaints == []
    said = dict(re.findall(r'data-(chosen|then|found)="([^"]*)"', document))
    assert said["chosen"] == maker["y"]
    assert said["then"] == maker["r"]
    assert int(said["found"]) >= 1


def test_two_thousand_nodes_are_drawn_and_only_those_in_view_are_shown(polycmp, tmp_path):
    onnx.save(long_model(2000), tmp_path / "deep.onnx")
    assert polycmp("inspect", "model", "deep.onnx", "--save-visual", "page.html").status == 0
    measure = "document.body.dataset.hidden = document.querySelectorAll('svg > g > g[style*=none]').length;"
    document, complaints = opened(tmp_path / "page.html", measure)
    assert complaints == []
    assert 'data-drawn="2002"' in document
    assert int(re.search(r'data-hidden="(\d+)"', document)[1]) > 40


def test_names_are_text_and_never_markup(polycmp, tmp_path):
    evil = long_model(2)
    evil.graph.name = "</script><script>document.title='taken'</script>"
    evil.graph.node[0].name = "<img src=x onerror=\"document.title='taken'\">"
    onnx.save(evil, tmp_path / "evil.onnx")
    assert polycmp("inspect", "model", "evil.onnx", "--save-visual", "page.html").status == 0
    page = (tmp_path / "page.html").read_text()
    assert "</script><script>document" not in page
    script = "document.querySelectorAll('.node')[1].dispatchEvent(new MouseEvent('click', {bubbles: true}));"
    document, _ = opened(tmp_path / "page.html", script)
    assert "<title>taken" not in document
    assert "<img" not in document.partition("<main>")[0]


def test_statistics_of_saved_outputs_stand_beside_the_tensors(polycmp, model, tmp_path):
    assert polycmp("run", model, "-b", "onnx", "--mark-all", "--save-outputs", "out.json").status == 0
    words = ("--combine-tensor-info", "out.json")
    assert polycmp("inspect", "model", model, *words, "--save-visual", "page.html").status == 0
    assert set(graph_in((tmp_path / "page.html").read_text())["tensors"]["r"]["figures"]) == {"min", "max", "mean"}
    shown = polycmp("inspect", "model", model, *words).out
    assert re.search(r"tensor +min +max +mean\n.*\n(.*\n)* +r +\S+ +\S+ +\S+\n", shown)
    found = json.loads(polycmp("inspect", "model", model, *words, "--json").out)
    assert set(found["tensor_info"]) >= {"h", "r", "y"}


def quantised_model():
    """Two blocks of a Conv each, with QuantizeLinear and DequantizeLinear between them, named as PyTorch does."""
    floats = {"w": np.ones((2, 2, 1, 1), np.float32), "s": np.array(0.1, np.float32)}
    weights = [numpy_helper.from_array(array, name) for name, array in floats.items()]
    weights.append(numpy_helper.from_array(np.array(0, np.int8), "z"))
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], "/block.0/conv/Conv"),
        helper.make_node("Relu", ["a"], ["b"], "/block.0/act/Relu"),
        helper.make_node("QuantizeLinear", ["b", "s", "z"], ["q"], "/block.0/QuantizeLinear"),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], "/block.1/DequantizeLinear"),
        helper.make_node("Conv", ["d", "w"], ["c"], "/block.1/conv/Conv"),
        helper.make_node("Relu", ["c"], ["y"], "/block.1/act/Relu"),
    ]
    shape = [1, 2, 4, 4]
    graph = helper.make_graph(
        nodes,
        "blocks",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        weights,
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def test_modules_and_quantising_operators_are_folded(polycmp, tmp_path):
    onnx.save(quantised_model(), tmp_path / "m.onnx")
    assert polycmp("inspect", "model", "m.onnx", "--save-visual", "page.html").status == 0
    script = """
        const shown = () => [...document.querySelectorAll('.node text:first-of-type')].map((item) => item.textContent);
        const said = document.body.dataset;
        said.all = shown().join();
        document.getElementById('quantising').click();
        said.folded = shown().join();
        said.edges = document.querySelectorAll('svg path').length;
        const depth = document.getElementById('depth');
        depth.value = 1;
        depth.dispatchEvent(new Event('change'));
        said.modules = shown().join();
        document.querySelector('.node.module').dispatchEvent(new MouseEvent('click', {bubbles: true}));
        [...document.querySelectorAll('#details button')].find((item) => item.textContent === 'Open it').click();
        said.opened = shown().join();
    """
    document, complaints = opened(tmp_path / "page.html", script)
    assert complaints == []
    said = dict(re.findall(r'data-(all|folded|edges|modules|opened)="([^"]*)"', document))
    assert said["all"].count("Linear") == 2
    assert said["folded"].split(",") == ["input", "Conv", "Relu", "Conv", "Relu", "output"]
    assert said["edges"] == "5"  # what was folded is read through
    assert said["modules"].split(",") == ["input", "block.0", "block.1", "output"]
    assert said["opened"].split(",") == ["input", "Conv", "Relu", "block.1", "output"]


def test_the_overview_leads_elsewhere_and_a_telephone_has_the_graph_above_the_words(polycmp, tmp_path):
    onnx.save(long_model(200), tmp_path / "deep.onnx")
    assert polycmp("inspect", "model", "deep.onnx", "--save-visual", "page.html").status == 0
    script = """{
        const said = document.body.dataset, at = () => document.querySelector('svg > g').getAttribute('transform');
        const [before, overview] = [at(), document.getElementById('overview')];
        const {left, top, height} = overview.getBoundingClientRect();
        const place = {clientX: left + 40, clientY: top + height - 20, buttons: 1, bubbles: true};
        overview.dispatchEvent(new PointerEvent('pointerdown', place));
        said.moved = before !== at();
        const [main, aside] = ['main', 'aside'].map((name) => document.querySelector(name).getBoundingClientRect());
        said.boxes = [main.width, aside.width, main.bottom <= aside.top, document.documentElement.scrollWidth].join();
    }"""
    wide, complaints = opened(tmp_path / "page.html", script)
    assert complaints == []
    assert 'data-moved="true"' in wide
    assert 'data-boxes="860,340,false,1200"' in wide
    page = (tmp_path / "opened.html").read_text(encoding="utf-8").replace("<body>", '<body style="width:390px">')
    narrow = re.sub(r"@media \(max-width: 700px\) \{(.*?\n)\}", r"\1", page, flags=re.DOTALL)
    (tmp_path / "opened.html").write_text(narrow, encoding="utf-8")
    found = browser.opened(tmp_path / "opened.html", "--virtual-time-budget=20000", "--dump-dom", timeout=200).stdout
    assert re.search(r'data-boxes="390,390,true,', found)


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


def test_a_model_too_large_for_a_page_is_recommended_another_program(polycmp, tmp_path):
    onnx.save(long_model(1100), tmp_path / "deep.onnx")
    done = polycmp("inspect", "model", "deep.onnx", "--save-visual", "page.html")
    assert "1100 operators are many for a page" in done.out
    assert "next: --save-visual page.json" in done.out
