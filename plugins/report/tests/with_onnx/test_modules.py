"""What a page shows along the graph, grouped by module: pairs of two models side by side, and the ranking of layers."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import converted_models as converted
import low_precision_models as low_precision
import numpy as np
import onnx
import pytest

from polycmp.report.along import Measure, Place
from polycmp_report.page.outline import Group, grouped, worst

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
REPORT = ("--report", "r.html", "--report", "r.json")
_LINE = re.compile(r'<(summary|a|div) class="line([^"]*)"[^>]*>(.*?)</\1>', re.S)


def in_modules(path: Path) -> Path:
    """Write into a model which module makes each tensor, as PyTorch's exporter does."""

    def change(model: onnx.ModelProto) -> None:
        for item in model.graph.node:
            layer = re.search(r"\d", item.output[0])
            place = f"encoder.layer.{layer[0]}" if layer else "encoder.layer.2"
            part = "dense" if item.op_type in {"MatMul", "Add"} else item.op_type.lower()
            scopes = ["", "encoder", place, f"{place}.{part}", item.name]
            item.metadata_props.add(key="pkg.torch.onnx.name_scopes", value=repr(scopes))

    return converted.edited(path, path, change)


def lines_of(page: str) -> list[tuple[str, str, list[str]]]:
    """Return the lines of the outline: the element, what became of it, and its cells."""
    outline = page[
        page.index('class="scroll outline"') : page.index("</section>", page.index('class="scroll outline"'))
    ]
    found = []
    for kind, classes, content in _LINE.findall(outline):
        cells = re.findall(r"<span[^>]*>(.*?)</span>", content, re.S)
        found.append((kind, classes.strip(), [html.unescape(re.sub(r"<[^>]+>", "", cell)) for cell in cells]))
    return found


@pytest.fixture
def half(polycmp, tmp_path):
    """Save a network with modules and the same in float16, one weight of which is wrong."""
    good = in_modules(converted.network(tmp_path / "good.onnx"))
    assert polycmp("convert", good, "--fp-to-fp16", "-o", "half.onnx").status == 0
    converted.edited(tmp_path / "half.onnx", tmp_path / "half.onnx", converted.scaled("1.down.weight", 2.0))
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(5).random((2, 5, converted.WIDTH), np.float32))
    words = ("half.onnx", "-b", "onnxrt:name=half", "-b", "onnxrt:name=float,model=good.onnx", "--load-inputs", "x.npz")
    return (*words, *REPORT)


def test_pairs_stand_side_by_side_in_their_modules_with_the_worst_figures(polycmp, half, tmp_path):
    assert polycmp("locate", *half).status == 1
    lines = lines_of((tmp_path / "r.html").read_text())
    found = json.loads((tmp_path / "r.json").read_text())
    assert lines[0][2] == ["Tensor in half", "In float", "Paired by", "Made by", "Relative", "Own"]
    groups = {cells[0]: (classes, cells) for kind, classes, cells in lines if kind == "summary"}
    assert {"encoder", "layer.0", "layer.1", "layer.2"} <= set(groups)
    assert "failed" in groups["layer.1"][0]
    rows = {row["tensor"]: row for row in found["tensors"]}
    inside = [row for row in rows.values() if row["module"].startswith("encoder.layer.1.")]
    assert float(groups["layer.1"][1][2]) == pytest.approx(max(row["relative_error"] for row in inside), rel=0.06)
    own = [row["own_error"]["relative_error"] for row in inside if row["own_error"] is not None]
    assert float(groups["layer.1"][1][3]) == pytest.approx(max(own), rel=0.06)
    places = {cells[0]: (classes, cells) for kind, classes, cells in lines if kind == "a"}
    assert set(rows) == set(places)
    assert "chosen" in places[found["first_bad"]][0]
    assert places["gelu1"][1][1:4] == ["gelu1", "name", "Gelu"]


def test_pairs_say_how_they_were_found_and_what_has_no_counterpart_is_shown(polycmp, tmp_path):
    converted.network(tmp_path / "good.onnx")
    converted.exported(tmp_path / "other.onnx")
    words = ("-b", "onnxrt:name=new", "-b", "onnxrt:name=old,model=good.onnx", "--atol", "1e-3")
    assert polycmp("locate", "other.onnx", *words, *REPORT).status == 0
    page = (tmp_path / "r.html").read_text()
    found = json.loads((tmp_path / "r.json").read_text())
    lines = lines_of(page)
    how = {cells[0]: cells[1:3] for kind, _, cells in lines if kind == "a"}
    assert how["/layer0/mm1"] == ["up0", "weight"]
    assert how["/layer1/act"] == ["gelu1", "structure"]
    alone = [cells for _, classes, cells in lines if classes == "skipped"]
    assert {cells[0] for cells in alone} == set(found["pairing"]["candidate"]["unmatched"])
    assert all(cells[1:3] == ["–", "no counterpart"] for cells in alone)
    assert f"; {len(alone)} tensors have no counterpart" in page
    order = [cells[0] for kind, _, cells in lines if kind != "summary"]
    assert order.index("/layer0/up") < order.index("/layer0/erf") < order.index("/layer0/act")


def test_tensors_of_the_reference_alone_stand_in_their_place(polycmp, tmp_path):
    converted.network(tmp_path / "good.onnx")
    converted.exported(tmp_path / "other.onnx")
    words = ("-b", "onnxrt:name=new", "-b", "onnxrt:name=old,model=other.onnx", "--atol", "1e-3")
    assert polycmp("locate", "good.onnx", *words, *REPORT).status == 0
    lines = lines_of((tmp_path / "r.html").read_text())
    found = json.loads((tmp_path / "r.json").read_text())
    alone = [cells for _, classes, cells in lines if classes == "skipped"]
    assert {cells[1] for cells in alone} == set(found["pairing"]["reference"]["unmatched"])
    assert all(cells[0] == "–" for cells in alone)


def test_a_ranking_is_drawn_along_the_graph_with_its_modules(polycmp, tmp_path):
    model = low_precision.chain(8, 4, 1e6)
    for item in model.graph.node:
        item.name = f"/layer.{re.sub(r'[^0-9]', '', item.name)}/{item.name}"
    onnx.save(model, tmp_path / "float.onnx")
    onnx.save(low_precision.float16(model, tmp_path), tmp_path / "small.onnx")
    np.savez(tmp_path / "x.npz", **low_precision.feed())
    words = ("float.onnx", "-b", "onnxrt:model=small.onnx,name=small", "-b", "onnxrt:name=float")
    assert (
        polycmp("locate", *words, "--load-inputs", "x.npz", "--atol", "1e-2", "--save-mixed", "m.onnx", *REPORT).status
        == 1
    )
    page = (tmp_path / "r.html").read_text()
    found = json.loads((tmp_path / "r.json").read_text())
    assert "<h2>Noise along the graph</h2>" in page
    lines = lines_of(page)
    groups = {cells[0]: cells for kind, _, cells in lines if kind == "summary"}
    assert list(groups) == [f"layer.{index}" for index in range(1, 9)]
    for name, cells in groups.items():
        inside = [item for item in found["layers"] if item["module"] == name]
        for at, key in ((2, "accumulated_snr_db"), (3, "own_snr_db")):
            ratios = [float(item[key]) for item in inside]
            assert float(cells[at].replace("broken", "-inf")) == pytest.approx(min(ratios), rel=0.01), (name, key)
    kept = [cells for _, classes, cells in lines if "chosen" in classes]
    assert {cells[0] for cells in kept} == set(found["kept"])
    assert all(cells[4] == "name" for cells in kept)


def test_equal_graphs_without_modules_have_no_outline(polycmp, tmp_path):
    converted.network(tmp_path / "a.onnx")
    words = ("-b", "onnxrt", "-b", "onnx", *REPORT)
    polycmp("locate", "a.onnx", *words)
    assert "The graph by module" not in (tmp_path / "r.html").read_text()
    in_modules(tmp_path / "a.onnx")
    polycmp("locate", "a.onnx", *words)
    assert "The graph by module" in (tmp_path / "r.html").read_text()


def test_modules_that_hold_nothing_but_another_are_one_with_it():
    group = grouped([Place("a", ("m", "n")), Place("b", ("m", "n", "o")), Place("c", ("m", "n")), Place("d", ("p",))])
    first, second = group.items
    assert isinstance(first, Group)
    assert isinstance(second, Group)
    assert (first.name, second.name) == ("m.n", "p")
    assert [item.name for item in first.items] == ["a", "o", "c"]
    assert [place.name for place in group.places] == ["a", "b", "c", "d"]


def test_the_worst_is_the_largest_error_the_smallest_ratio_and_any_nan():
    assert worst(Measure("e"), [None, 1e-3, 0.0]) == 1e-3
    assert worst(Measure("r", "dB", falls=True), [30.0, float("inf"), None]) == 30.0
    assert worst(Measure("e"), [None]) is None
    assert np.isnan(worst(Measure("e"), [1.0, float("nan")]))


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium and no google-chrome on PATH")
@pytest.mark.parametrize("width", [1400, 400])
def test_a_browser_opens_the_culprits_modules_and_closes_them(polycmp, half, tmp_path, width):
    polycmp("locate", *half)
    asking = (
        "<script>addEventListener('load', () => {"
        "const chosen = document.querySelector('.outline .chosen');"
        "const seen = () => chosen.checkVisibility();"
        "const before = seen(); chosen.closest('details').querySelector('summary').click(); const after = seen();"
        "document.title = [document.documentElement.scrollWidth <= innerWidth, before, after].join(' '); });"
        "</script></body>"
    )
    page = (tmp_path / "r.html").read_text()
    page = re.sub(r"script-src &#x27;[^ ]*&#x27;", "script-src 'unsafe-inline'", page).replace("</body>", asking)
    (tmp_path / "asked.html").write_text(page)
    switches = ("--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0", "--dump-dom")
    switches += (f"--window-size={width},900", f"--user-data-dir={tmp_path / 'profile'}")
    address = (tmp_path / "asked.html").as_uri()
    done = subprocess.run([CHROMIUM, *switches, address], capture_output=True, text=True, timeout=50, check=True)
    assert "<title>true true false</title>" in done.stdout
    assert "CONSOLE" not in done.stderr, done.stderr
