"""What a page shows of the outputs of a run: their error as an image, both sides, and the worst elements."""

from __future__ import annotations

import base64
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from browser import asked, needs_browser

from polycmp.results.files import OutputsWriter


def page_of(polycmp, made, expected, *words):
    """Compare saved outputs, an iteration each, and return the page."""
    for name, runs in (("made", made), ("expected", expected)):
        with OutputsWriter(f"{name}.npz") as writer:
            for outputs in runs if isinstance(runs, list) else [runs]:
                writer.add(name, outputs, 0.0)
    done = polycmp("run", "--load-outputs", "made.npz", "expected.npz", "--report", "page.html", *words)
    assert done.status in {0, 1}, done.out + done.err
    return Path("page.html").read_text()


def pixels_of(page):
    """Return the places in the palette of the first image of a page."""
    content = base64.b64decode(re.search(r"data:image/png;base64,([^\"]+)", page).group(1))
    columns, rows = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
    at = content.index(b"IDAT") + 4
    lines = np.frombuffer(zlib.decompressobj().decompress(content[at:]), np.uint8).reshape(rows, columns + 1)
    return lines[:, 1:]


def worst_of(page):
    """Return the rows of the first table of worst elements."""
    table = re.search(r'<div class="worst".*?</table>', page).group(0)
    return [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", table)][1:]


def test_error_both_sides_and_worst_elements(polycmp):
    expected = np.linspace(-2, 2, 600, dtype=np.float32).reshape(20, 30)
    made = expected.copy()
    made[3, 7] += 0.5
    made[11, 2] -= 0.25
    page = page_of(polycmp, {"y": made}, {"y": expected})
    pixels = pixels_of(page)
    assert pixels.shape == (20, 30)
    assert np.argwhere(pixels).tolist() == [[3, 7], [11, 2]]
    assert pixels[3, 7] > pixels[11, 2]
    rows = worst_of(page)
    assert [row[0] for row in rows] == ["3, 7", "11, 2"]
    assert [float(row[3]) for row in rows] == [0.5, 0.25]
    assert float(rows[0][1]) - float(rows[0][2]) == pytest.approx(0.5, abs=1e-5)
    for title in ("Candidate against reference", "Values of both sides", "Ten worst elements"):
        assert page.count(f"<h3>{title}</h3>") == 1


def test_ten_elements_are_listed_the_worst_first(polycmp):
    rng = np.random.default_rng(0)
    expected = rng.normal(size=(4, 3, 50)).astype(np.float32)
    made = expected + rng.normal(size=expected.shape).astype(np.float32)
    rows = worst_of(page_of(polycmp, {"y": made}, {"y": expected}))
    order = np.argsort(-np.abs(made.astype(float) - expected), axis=None)[:10]
    assert [row[0] for row in rows] == [", ".join(map(str, np.unravel_index(at, made.shape))) for at in order]


def test_what_is_no_number_is_seen(polycmp):
    expected = np.ones((8, 8), np.float32)
    made = expected + 0.125
    made[2, 5], made[4, 4] = np.nan, np.inf
    page = page_of(polycmp, {"y": made}, {"y": expected})
    assert np.argwhere(pixels_of(page) == 255).tolist() == [[2, 5], [4, 4]]
    assert [row[3] for row in worst_of(page)][:3] == ["∞", "∞", "0.125"]
    assert 'class="dot far"' in page


def test_the_iteration_with_the_largest_error_is_shown(polycmp):
    expected = np.zeros((5, 5), np.float32)
    runs = [{"y": expected + error} for error in (np.float32(0.1), np.float32(0.4), np.float32(0.2))]
    page = page_of(polycmp, runs, [{"y": expected}] * 3)
    assert "Absolute error in iteration 1" in page
    assert worst_of(page)[0][3] == "0.4"


def test_outputs_that_are_equal_or_cannot_be_drawn_show_nothing(polycmp):
    same = np.arange(6.0, dtype=np.float32)
    texts = np.array(["a", "b"])
    other = {"same": same, "shape": same[:4], "text": texts, "empty": same[:0], "scalar": np.float32(1)}
    made = {"same": same, "shape": same, "text": texts, "empty": same[:0], "scalar": np.float32(2)}
    page = page_of(polycmp, made, other)
    assert page.count('class="looks"') == 1
    assert worst_of(page) == [["–", "2", "1", "1"]]


@pytest.mark.parametrize("wrong", [250, 500])
def test_a_page_of_500_outputs_stays_small(polycmp, wrong):
    rng = np.random.default_rng(0)
    path = (
        "/model/encoder/layer.{}/attention/output/LayerNorm/LayerNormalization_{}_output_0"  # as exporters write them
    )
    names = [path.format(number // 40, number) for number in range(500)]
    expected = {name: rng.normal(size=(32, 64)).astype(np.float32) for name in names}
    noise = {name: rng.normal(size=(32, 64)).astype(np.float32) * (at < wrong) for at, name in enumerate(names)}
    made = {name: array + noise[name] for name, array in expected.items()}
    page = page_of(polycmp, made, expected)
    assert page.count('class="looks"') == 10
    assert len(page.encode()) < 1_000_000


@needs_browser
@pytest.mark.parametrize("width", [1400, 400])
def test_a_browser_shows_the_pictures_within_its_width(polycmp, tmp_path, width):
    rng = np.random.default_rng(0)
    expected = {"y": rng.normal(size=(2, 3, 40, 200)).astype(np.float32)}
    page = page_of(polycmp, {"y": expected["y"] + 1}, expected)
    asking = (
        "const image = document.querySelector('.looks img');"
        "document.title = [image.naturalWidth, document.documentElement.scrollWidth <= innerWidth,"
        "image.getBoundingClientRect().right <= innerWidth].join(' ');"
    )
    done = asked(page, asking, tmp_path, width)
    assert "<title>67 true true</title>" in done.stdout
    assert "CONSOLE" not in done.stderr, done.stderr
