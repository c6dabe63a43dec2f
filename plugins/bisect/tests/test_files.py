"""`--over files`: the first of a row of files that is wrong or slow, and the one file that the report is headed by."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from releases import write_model


@pytest.fixture
def bisect(polycmp, tmp_path):
    """Bisect over files in the folder of a test; returns what was said and the JSON report."""

    def run(*words):
        done = polycmp("bisect", *words, "--over", "files", "--no-locate", "--report", "r.json")
        report = tmp_path / "r.json"
        return done, json.loads(report.read_text()) if report.exists() else {}

    return run


@pytest.fixture
def exports(tmp_path):
    """Write models that multiply by factors."""

    def write(*factors):
        for number, factor in enumerate(factors):
            write_model(tmp_path / f"n{number}.onnx", factor)
        return [f"n{number}.onnx" for number in range(len(factors))]

    return write


def test_the_first_file_that_differs_is_named(exports, bisect):
    files = exports(2, 2, 2, 2, 3, 3, 3)
    done, report = bisect(*files, "-b", "onnxrt", "-b", "onnxrt:model=n0.onnx")
    assert done.status == 1, done.err
    assert (report["first_bad"], report["last_good"]) == ("n4.onnx", "n3.onnx")
    assert "first bad file n4.onnx, last good n3.onnx" in done.out


def test_the_page_is_headed_by_the_file_to_blame(exports, polycmp, tmp_path):
    pytest.importorskip("polycmp_report")
    words = (*exports(2, 2, 3), "-b", "onnxrt", "-b", "onnxrt:model=n0.onnx", "--over", "files", "--no-locate")
    assert polycmp("bisect", *words, "--report", "r.html").status == 1
    assert "<h1>Found in n2.onnx and n0.onnx</h1>" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_files_that_are_all_right_are_no_failure(exports, bisect):
    done, report = bisect(*exports(2, 2, 2), "-b", "onnxrt", "-b", "onnxrt:model=n0.onnx")
    assert (done.status, report["first_bad"]) == (0, None), done.err
    assert "n2.onnx is right" in done.out


def test_one_file_is_nothing_to_search_over(exports, bisect):
    done, _ = bisect(*exports(2), "-b", "onnxrt", "-b", "onnx")
    assert (done.status, "at least two files" in done.err) == (2, True)


def write_slow(path, products):
    """Write a model that multiplies matrices so many times."""
    weight = numpy_helper.from_array(np.eye(256, dtype=np.float32), "w")
    names = ["x", *(f"t{number}" for number in range(products - 1)), "y"]
    graph = helper.make_graph(
        [helper.make_node("MatMul", [names[number], "w"], [names[number + 1]]) for number in range(products)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [256, 256])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [256, 256])],
        [weight],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def test_the_first_file_that_takes_longer_is_named_with_how_much(bisect, tmp_path):
    for number, products in enumerate([1, 1, 60, 60]):
        write_slow(tmp_path / f"n{number}.onnx", products)
    words = ("--slower", "4", "--iterations", "5", "--report", "page.html")
    done, report = bisect(*(f"n{number}.onnx" for number in range(4)), "-b", "onnxrt", *words)
    assert done.status == 1, done.err
    assert (report["first_bad"], report["last_good"]) == ("n2.onnx", "n1.onnx")
    assert "; it takes" in done.out
    assert "times as long" in done.out
    assert "Time by file" in (tmp_path / "page.html").read_text()
    assert report["judged"]["n2.onnx"]["seconds"] > 4 * report["judged"]["n1.onnx"]["seconds"]
