"""Results in notebooks: the card, the drawing, a line of progress; and the notebooks in `examples/`."""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from browser import needs_browser, opened

import polycmp
from polycmp.report import progress

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


@pytest.fixture
def failed():
    rng = np.random.default_rng(0)
    old = {"logits": rng.normal(size=(4, 10)), "<b>label</b>": np.array([3, 1, 4, 1])}
    return polycmp.compare({**old, "logits": old["logits"] + 1e-3}, old, atol=1e-4)


def cells(path: Path) -> list[str]:
    """Return the code of a notebook's cells."""
    return ["".join(item["source"]) for item in json.loads(path.read_text())["cells"] if item["cell_type"] == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_cells_of_a_notebook_run(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    names: dict[str, object] = {}
    for code in cells(path):
        *steps, last = ast.parse(code).body
        exec(compile(ast.Module(steps, []), path.name, "exec"), names)
        if not isinstance(last, ast.Expr):
            exec(compile(ast.Module([last], []), path.name, "exec"), names)
            continue
        shown = eval(compile(ast.Expression(last.value), path.name, "eval"), names)
        made = getattr(shown, "_repr_html_", lambda: "")()
        assert made or not isinstance(shown, polycmp.Answer)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "path",
    [NOTEBOOKS[0], *(pytest.param(path, marks=pytest.mark.corpus) for path in NOTEBOOKS[1:])],
    ids=lambda path: path.stem,
)
def test_a_notebook_runs_in_jupyter(path, tmp_path, monkeypatch):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    nbclient.NotebookClient(book, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [out.data for cell in book.cells for out in cell.get("outputs", []) if "data" in out]
    assert any("text/html" in data and "polycmp" not in data.get("text/plain", "object at") for data in shown)


def test_notebooks_are_kept_without_outputs():
    assert len(NOTEBOOKS) == 2
    for path in NOTEBOOKS:
        book = json.loads(path.read_text())
        assert all(not item.get("outputs") and item.get("execution_count") is None for item in book["cells"])


def test_the_card_loads_nothing_and_runs_nothing(failed):
    html = failed._repr_html_()
    assert "1 of 2 outputs differs" in html
    assert "logits" in html
    assert "40 of 40 elements differ" in html
    assert "&lt;b&gt;label&lt;/b&gt;" in html
    assert not re.search(r"<script|<link|<style|url\(|src=|href=|https?://", html)


def test_the_drawing_is_of_one_output(failed, tmp_path):
    picture = failed.plot("logits")
    assert "<svg" in picture._repr_html_()
    assert "of logits" in picture._repr_html_()
    picture.save(tmp_path / "logits.html")
    assert "<svg" in (tmp_path / "logits.html").read_text(encoding="utf-8")
    with pytest.raises(polycmp.errors.UsageError, match=r"logits\.html"):
        picture.save(tmp_path / "logits.png")
    with pytest.raises(polycmp.errors.DataError, match="no error of '<b>label</b>' to draw"):
        failed.plot("<b>label</b>")


def test_without_the_package_of_reports_there_is_the_text(failed, monkeypatch):
    monkeypatch.setenv("POLYCMP_PLUGINS", "none")
    r = polycmp.compare(np.arange(3.0), np.arange(3.0))
    assert r._repr_html_().startswith("<pre>")
    assert "PASSED: 1 output within tolerance" in r._repr_html_()
    with pytest.raises(polycmp.errors.PolycmpError, match="polycmp-report"):
        polycmp.compare(np.arange(3.0) + 1, np.arange(3.0)).plot("output")


@needs_browser
@pytest.mark.parametrize("width", [390, 1400])
def test_the_card_stays_within_the_cell(failed, tmp_path, width):
    page = tmp_path / "card.html"
    asking = "document.title = document.documentElement.scrollWidth + ' of ' + innerWidth"
    page.write_text(f"<!DOCTYPE html><meta charset=utf-8><body>{failed._repr_html_()}<script>{asking}</script>")
    found = opened(page, "--dump-dom", f"--window-size={width},900").stdout
    scrolled, shown = map(int, re.search(r"<title>(\d+) of (\d+)</title>", found).groups())
    assert scrolled <= shown


def test_a_notebook_shows_what_happens_and_forgets_it(monkeypatch):
    told: list[str] = []
    handle = SimpleNamespace(update=lambda content, raw: told.append(content["text/plain"]))
    display = lambda content, raw, display_id: told.append(content["text/plain"]) or handle  # noqa: E731
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    monkeypatch.setattr("polycmp.report.progress.DELAY", 0.0)
    with progress.progress() as tell:
        for _ in range(1000):
            if told:
                break
            import time

            time.sleep(0.01)
        tell("building \x1b[31m")
    assert told == ["working …", "building \\x1b[31m …", ""]
