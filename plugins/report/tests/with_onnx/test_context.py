"""What a page shows beside what was found: the graph around the first bad tensor, and the environment of each side."""

from __future__ import annotations

import html
import itertools
import re
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from browser import asked, needs_browser
from onnx import TensorProto, helper
from small_models import graph_model

from polycmp.plan import BackendPlan, Plan
from polycmp.plugins import Registry
from polycmp_report.environment import environments
from polycmp_report.page.layers import layers_of

#: Operators in a row, and the one that differs.
LENGTH, WRONG = 16, 7


def chain(wrong: float = 0.0) -> onnx.ModelProto:
    """Return a chain of products, with a side way around the middle and many readers at one place."""
    weights = [(f"w{at}", np.eye(4, dtype=np.float32)) for at in range(LENGTH)]
    weights[WRONG][1][0, 0] += wrong
    nodes = [
        helper.make_node("MatMul", [f"t{at - 1}" if at else "x", f"w{at}"], [f"t{at}"], name=f"/layer.{at}/mm")
        for at in range(LENGTH)
    ]
    nodes.append(helper.make_node("Add", ["t2", f"t{LENGTH - 1}"], ["sum"], name="/sum"))
    nodes += [helper.make_node("Relu", [f"t{WRONG}"], [f"r{at}"], name=f"/relu.{at}") for at in range(9)]
    values = [("sum", TensorProto.FLOAT, [2, 4]), *((f"r{at}", TensorProto.FLOAT, [2, 4]) for at in range(9))]
    return graph_model(nodes, [("x", TensorProto.FLOAT, [2, 4])], values, weights)


@pytest.fixture
def models(tmp_path):
    onnx.save(chain(0.5), tmp_path / "new.onnx")
    onnx.save(chain(), tmp_path / "old.onnx")
    return ("new.onnx", "-b", "onnxrt", "-b", "onnxrt:model=old.onnx", "--report", "r.html")


def boxes_of(page: str) -> dict[str, str]:
    """Return what each box of the diagram says, by the operator's name."""
    [svg] = re.findall(r'<svg class="surroundings".*?</svg>|<svg[^>]*class="surroundings".*?</svg>', page, re.S)
    titles = re.findall(r"<(?:a|g)[^>]*><title>(.*?)</title><rect", svg, re.S)
    return {html.unescape(title).splitlines()[1]: html.unescape(title) for title in titles}


@pytest.mark.parametrize("command", [("locate",), ("run", "--mark-all")])
def test_a_page_shows_the_graph_around_the_first_bad_tensor(polycmp, models, tmp_path, command):
    done = polycmp(*command, *models)
    assert done.status == 1, done.err
    page = (tmp_path / "r.html").read_text()
    boxes = boxes_of(page)
    layers = [name for name in boxes if name.startswith("/layer.")]
    assert layers == [f"/layer.{at}/mm" for at in range(WRONG - 5, WRONG + 6)]  # five each way
    assert len([name for name in boxes if name.startswith("/relu.")]) == 3  # of ten readers the four nearest
    assert "6 more beside them are left out" in page
    [chosen] = re.findall(r'<a class="failed chosen" href="#([\w-]+)"><title>(.*?)</title>', page, re.S)
    assert f"makes t{WRONG}: " in chosen[1]
    assert f'id="{chosen[0]}"' in page
    for name in (f"/layer.{WRONG - 1}/mm", f"/layer.{WRONG}/mm"):  # a range and an error on every edge
        assert re.search(r"makes t\d+: \S+ (to )?\S+, error [\d.e-]+", boxes[name]), boxes[name]


def test_where_only_outputs_were_compared_no_graph_is_drawn(polycmp, models, tmp_path):
    assert polycmp("run", *models).status == 1
    assert "The graph around" not in (tmp_path / "r.html").read_text()


def test_where_all_is_equal_no_graph_is_drawn(polycmp, models, tmp_path):
    done = polycmp("run", "old.onnx", "-b", "onnxrt", "-b", "onnx", "--mark-all", "--report", "r.html")
    assert done.status == 0, done.out
    assert "The graph around" not in (tmp_path / "r.html").read_text()


def test_an_edge_over_several_layers_goes_beside_the_boxes_between():
    layers = layers_of([[], [0], [1], [2, 0]])
    assert [layer for _, layer in layers.boxes] == [0, 1, 2, 3]
    [(first, _), (second, _)] = layers.bends[0, 3]
    assert abs(first - layers.boxes[1][0]) > 0.5
    assert abs(second - layers.boxes[2][0]) > 0.5
    assert layers.bends[0, 1] == ()


def test_no_two_boxes_lie_in_the_same_place():
    rng = np.random.default_rng(0)
    for count in (1, 2, 7, 30):
        reads = [sorted({int(i) for i in rng.integers(0, at, 3)}) if at else [] for at in range(count)]
        layers = layers_of(reads)
        places = sorted(layers.boxes, key=lambda place: (place[1], place[0]))
        for one, two in itertools.pairwise(places):
            assert one[1] != two[1] or two[0] - one[0] >= 0.99
        assert all(layers.boxes[other][1] < layers.boxes[at][1] for at, mine in enumerate(reads) for other in mine)
        assert all(0.5 <= place <= layers.width - 0.49 for place, _ in layers.boxes)


@needs_browser
@pytest.mark.parametrize("width", [1400, 400])
def test_a_browser_begins_with_the_culprit_in_view(polycmp, models, tmp_path, width):
    polycmp("run", "--mark-all", *models)
    asking = (
        "const box = document.querySelector('.surroundings .chosen rect').getBoundingClientRect();"
        "document.title = [document.documentElement.scrollWidth <= innerWidth,"
        "box.left >= 0, box.right <= innerWidth].join(' ');"
    )
    done = asked((tmp_path / "r.html").read_text(), asking, tmp_path, width)
    assert "<title>true true true</title>" in done.stdout
    assert "CONSOLE" not in done.stderr, done.stderr


def test_a_page_has_the_environment_of_both_sides(polycmp, model, tmp_path):
    polycmp("run", "model.onnx", "-b", "onnxrt", "-b", "onnx", "--report", "r.html")
    page = (tmp_path / "r.html").read_text()
    assert page.count("<h2>Environment of ") == 1
    assert "Environment of onnxrt and onnx" in page
    for name in ("Python", "numpy", "onnxruntime", "onnx", "platform", "processor", "cores"):
        assert f"<dt>{name}</dt>" in page, name


@pytest.mark.skipif(not Path("/proc/cpuinfo").is_file(), reason="only Linux tells the processor's flags in a file")
def test_the_processors_flags_are_those_that_decide_about_kernels(polycmp, model, tmp_path):
    polycmp("run", "model.onnx", "-b", "onnxrt", "-b", "onnx", "--report", "r.html")
    flags = re.search(r"<dt>processor flags</dt><dd>(.*?)</dd>", (tmp_path / "r.html").read_text())
    assert flags is not None
    known = set(Path("/proc/cpuinfo").read_text().split())
    assert set(flags[1].split()) <= known or flags[1].startswith("none")
    for flag in {"avx2", "avx512_vnni", "amx_int8", "avx_vnni", "asimddp", "i8mm"} & known:
        assert flag in flags[1].split()


def test_another_interpreter_tells_of_itself(tmp_path):
    other = tmp_path / "python"
    other.symlink_to(Path(sys.executable).resolve())  # outside its virtual environment: it has nothing of ours
    backends = (BackendPlan("here", "onnxrt"), BackendPlan("there", "onnxrt", python=str(other)))
    here, there = environments(Plan(backends=backends), Registry.discover())
    known = {item.name: item.value for item in there.items}
    assert (here.title, there.title) == ("Environment of here", "Environment of there")
    assert known["interpreter"] == str(other)
    assert known["Python"].endswith(f"{sys.version_info[0]}.{sys.version_info[1]}.{sys.version_info[2]}")
    [mute] = environments(Plan(backends=(BackendPlan("x", "onnxrt", python="/no/python"),)), Registry.discover())
    assert "No such file" in {item.name: item.value for item in mute.items}["not known"]


def test_of_outputs_from_a_file_the_environment_is_not_known(polycmp, model, tmp_path):
    polycmp("run", "model.onnx", "-b", "onnxrt", "--save-outputs", "o.npz", "--save-inputs", "i.npz")
    done = polycmp(
        "run", "model.onnx", "-b", "onnx", "--load-inputs", "i.npz", "--load-outputs", "o.npz", "--report", "r.html"
    )
    assert done.status == 0, done.err
    page = (tmp_path / "r.html").read_text()
    assert "Environment of o.npz" in page
    assert "its outputs were read from a file" in page


def test_the_page_of_locate_shows_both_sides_of_the_first_bad_tensor(polycmp, models, tmp_path):
    assert polycmp("locate", *models).status == 1
    page = (tmp_path / "r.html").read_text()
    looks = re.findall(r'<tr class="detail failed" id="([^"]+)"[^>]*>.*?</tr>', page, re.S)
    [chosen] = re.findall(r'<a class="failed chosen" href="#([\w-]+)">', page)
    assert chosen in looks
    detail = re.search(rf'id="{chosen}" data-printed>.*?</tr>', page, re.S)
    assert detail is not None
    for part in ('class="looks"', "data:image/png", "Candidate against reference", "Values of both sides", "Ten worst"):
        assert part in detail[0], part
    assert page.count('class="looks"') <= 10


def test_a_page_prints_the_details_of_what_is_to_blame_alone(polycmp, models, tmp_path):
    """Every tensor after the first bad one is bad as well: with their details a small model took sixteen sheets."""
    assert polycmp("locate", *models).status == 1
    page = (tmp_path / "r.html").read_text()
    [chosen] = re.findall(r'<a class="failed chosen" href="#([\w-]+)">', page)
    assert re.findall(r'id="([\w-]+)" data-printed', page) == [chosen]
    assert page.count('<tr class="detail failed"') > 5


def test_locate_without_a_page_looks_at_nothing(polycmp, models, monkeypatch):
    from polycmp_report.page import error_views

    monkeypatch.setattr(error_views, "Looker", lambda: pytest.fail("nobody asked for a page"))
    assert polycmp("locate", *models[:-2]).status == 1
