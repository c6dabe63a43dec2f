"""The script for a runtime's maintainers: it runs with nothing but the runtime, and tells how far off that is."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from releases import write_model

from polycmp_bisect.scripts import last_line_of, releases_in, script_for


@pytest.mark.parametrize("package", ["onnxruntime", "openvino", "onnx"])
def test_the_script_tells_how_far_off_the_runtime_is(tmp_path, monkeypatch, capsys, package):
    module = pytest.importorskip("onnx.reference" if package == "onnx" else package)
    (tmp_path / "case").mkdir()
    write_model(tmp_path / "case" / "model.onnx", 2)
    x = np.float32([0, 1, 2, 3])
    np.savez(tmp_path / "case" / "inputs.npz", **{"0/x": x, "polycmp.json": np.array("about")})
    np.savez(tmp_path / "case" / "expected.npz", **{"right/0/y": 2 * x - 0.5})
    monkeypatch.chdir(tmp_path)
    exec(compile(script_for(package), "repro.py", "exec"), {})
    release = sys.modules[package].__version__
    assert module
    assert capsys.readouterr().out.strip() == f"{release} y off by 0.5"


def test_a_runtime_that_nobody_wrote_lines_for_has_no_script():
    assert script_for("toyrt") == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("print('first')\nprint('  last  ')\nprint()\n", "last"),
        ("print('fine')\nraise ValueError('no such model')\n", "ValueError: no such model"),
        ("import sys\nsys.exit(3)\n", "ended with status 3"),
    ],
)
def test_the_last_line_or_the_error_is_told(tmp_path, text, said):
    (tmp_path / "repro.py").write_text(text)
    assert last_line_of(tmp_path / "repro.py", sys.executable) == said


def test_an_interpreter_that_is_gone_is_told_in_words(tmp_path):
    gone = str(tmp_path / "python")
    assert "No such file" in last_line_of(tmp_path / "repro.py", gone)
    assert releases_in(gone, ["numpy"]) == ""


def test_releases_are_written_as_pip_does_each_once_and_those_that_are_not_there_left_out():
    found = releases_in(sys.executable, ["numpy", "no-such-package", "numpy"])
    assert re.fullmatch(r"numpy==\S+", found)
    assert found == f"numpy=={np.__version__}"
