"""Pictures that a Python program asks its compare function for."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from polycmp.comparator import Comparator, CompareFunc, IterationResult, RunResults, SimpleCompareFunc
from polycmp.errors import PluginError

pytest.importorskip("matplotlib")


def results():
    made = [IterationResult({"y": np.ones((4, 4), np.float32) + step, "words": np.array(["a"])}) for step in (0, 1)]
    expected = [IterationResult({"y": np.ones((4, 4), np.float32), "words": np.array(["a"])}) for _ in range(2)]
    return RunResults([("new", made), ("old", expected)])


@pytest.mark.parametrize("make", [CompareFunc.simple, SimpleCompareFunc])
def test_a_comparison_draws_each_iteration(tmp_path, make):
    function = make(save_heatmaps=tmp_path / "maps", save_error_metrics_plot=str(tmp_path / "plots"))
    assert not Comparator.compare_accuracy(results(), compare_func=function)
    assert sorted(path.name for path in (tmp_path / "maps").iterdir()) == [
        f"iteration-00000{step}-new-vs-old-y-{kind}-error.png" for step in (0, 1) for kind in ("absolute", "relative")
    ]
    assert len(list((tmp_path / "plots").iterdir())) == 2


def test_the_call_with_two_iterations_draws_too(tmp_path):
    function = CompareFunc.simple(save_heatmaps=str(tmp_path))
    new, old = (IterationResult(outputs[1], None, name) for name, outputs in results().items())
    assert not function(new, old)["y"]
    assert function(old, old)["y"]
    names = {path.name for path in tmp_path.iterdir()}
    assert {
        "iteration-000000-new-vs-old-y-absolute-error.png",
        "iteration-000001-old-vs-old-y-relative-error.png",
    } <= names


def test_nothing_asked_for_draws_nothing(tmp_path):
    function = CompareFunc.simple(save_heatmaps=None, show_heatmaps=False)
    assert not Comparator.compare_accuracy(results(), compare_func=function)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(Exception, match="taken"):
        Comparator.compare_accuracy(results(), compare_func=CompareFunc.simple(save_heatmaps=tmp_path / "taken/maps"))


def test_without_matplotlib_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("polycmp_report.pictures.draw.find_spec", lambda _: None)
    with pytest.raises(PluginError) as caught:
        CompareFunc.simple(save_heatmaps=str(tmp_path))
    assert caught.value.hint == "pip install 'polycmp-report[plot]'"


def test_without_the_package_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYCMP_PLUGINS", "none")
    with pytest.raises(PluginError) as caught:
        CompareFunc.simple(save_heatmaps=str(tmp_path))
    assert "--save-heatmaps is not installed" in caught.value.what
    assert caught.value.hint == "pip install 'polycmp-report[plot]'"


def test_other_keywords_read_no_plugins():
    code = (
        "import sys; from polycmp.comparator import CompareFunc; CompareFunc.simple(atol=1); "
        "print('polycmp_report.plugin' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
