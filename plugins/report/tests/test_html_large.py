"""Pages of many outputs and of models in modules: small enough, grouped, and with infinity drawn as such."""

from __future__ import annotations

import math
import re

import numpy as np
from report_outcomes import outcome_of

from polycmp.report import Note, Point, Result, Series
from polycmp.report.run_result import result_of
from polycmp_report.html import to_html
from polycmp_report.page.modules import groups_of


def test_a_page_of_500_outputs_that_differ_is_below_1_mb():
    random = np.random.default_rng(0)
    shape = (8, 64)
    reference = {
        f"model/layer{i // 10}/block{i % 10}/output_tensor_{i}": random.normal(size=shape).astype(np.float32)
        for i in range(500)
    }
    for scale in (1e-7, 1e-3):
        noise = {name: np.float32(scale) * random.normal(size=shape).astype(np.float32) for name in reference}
        candidate = {name: array + noise[name] for name, array in reference.items()}
        page = to_html(result_of(outcome_of(candidate, reference)))
        assert page.count('class="spark"') == 500
        assert len(page.encode()) < 1_000_000


def page_of(*blocks):
    return to_html(Result("locate", "failed", "FAILED", "it differs", content=blocks))


def series(*points):
    return Series("Errors", tuple(Point(name, value) for name, value in points), ends=("first", "last"))


def test_infinity_and_nan_have_a_shape_and_a_place_of_their_own():
    page = page_of(series(("a", 1e-3), ("b", math.inf), ("c", math.nan)))
    assert (page.count('<path class="endless"'), page.count("<circle")) == (2, 1)
    assert "∞" in page
    assert "∞" not in page_of(series(("a", 1e-3), ("b", 1.0)))


def test_points_lie_on_bands_of_their_modules():
    names = [f"/encoder/layer{i}/{what}/out" for i in range(3) for what in ("attention", "mlp")]
    page = page_of(series(*((name, 1e-3) for name in names)))
    assert page.count('class="band"') == 3
    assert "attention" in re.sub("<title>.*?</title>", "", page.partition("<body>")[2])


def test_groups_are_as_fine_as_there_is_room_for():
    deep = [f"/net/block{i}/conv{j}/out" for i in range(4) for j in range(3)]
    assert [group.name for group in groups_of(deep)] == ["conv0", "conv1", "conv2"] * 4
    many = [f"/net/block{i}/conv{j}/out" for i in range(4) for j in range(30)]
    assert [(group.name, group.first, group.last) for group in groups_of(many)] == [
        ("block0", 0, 29),
        ("block1", 30, 59),
        ("block2", 60, 89),
        ("block3", 90, 119),
    ]
    assert groups_of(["a", "b", "c"]) == groups_of([]) == groups_of(["/m/a", "/m/b"]) == []


def test_notes_are_one_paragraph():
    page = page_of(Note("the first"), Note("the second.", subject="onnxrt"))
    assert "<p>the first. onnxrt: the second.</p>" in page
