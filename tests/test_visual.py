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
