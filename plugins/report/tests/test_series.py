"""Series on a page, with infinity drawn as such; and pages of many outputs, which stay small."""

from __future__ import annotations

import math
import re

import numpy as np
from report_outcomes import outcome_of

from polycmp.report import Note, Point, Result, Series
from polycmp.report.run_result import result_of
from polycmp_report.html import to_html


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
    assert (page.count('<path class="endless"'), page.count('class="point"')) == (2, 1)
    assert "∞" in page
    assert "∞" not in page_of(series(("a", 1e-3), ("b", 1.0)))


def test_points_lie_on_bands_of_their_modules():
    names = [f"/encoder/layer{i}/{what}/out" for i in range(3) for what in ("attention", "mlp")]
    page = page_of(series(*((name, 1e-3) for name in names)))
    assert page.count('class="band"') == 3
    assert "attention" in re.sub("<title>.*?</title>", "", page.partition("<body>")[2])


def test_notes_are_a_list_of_which_the_first_are_shown():
    page = page_of(Note("the first"), Note("the second.", subject="onnxrt"), Note("a third", label="cause"))
    assert "<li>the first</li>" in page
    assert "<li><strong>onnxrt: </strong>the second.</li>" in page
    assert "<li><strong>cause: </strong>a third</li>" in page
    many = page_of(*(Note(f"note {index}") for index in range(20)))
    shown, _, folded = many.partition("<summary>14 more</summary>")
    assert "<li>note 5</li>" in shown
    assert "<li>note 19</li>" in folded


def test_marks_of_a_series_have_shapes_and_a_legend():
    points = (
        Point("a", 1e-7, "passed", ring=1e-7), Point("b", 1e-3, "info"), Point("c", 0.1, "failed"), Point("d", 0.2),
    )  # fmt: skip
    meant = {"passed": "within", "info": "explained", "failed": "outside", "blind": "never", "ring": "its own"}
    page = page_of(Series("Errors", points, legend=meant))
    legend = page.partition('<ul class="legend">')[2].partition("</ul>")[0]
    assert [words for words in meant.values() if words in legend] == ["within", "explained", "outside", "its own"]
    assert '<g class="failed"><path class="point"' in legend
    assert '<g class="info"><rect class="point"' in legend
    assert '<g class="passed"><circle class="point"' in legend
