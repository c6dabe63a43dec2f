"""What `polycmp.compare` returns: figures by output, text, tables, and types that a checker knows."""

from __future__ import annotations

import math
import sys
from textwrap import dedent

import numpy as np
import pytest
from type_checking import mypy

import polycmp


def test_figures_of_each_output(new, old):
    r = polycmp.compare(new, old, atol=1e-4)
    assert not r.passed
    assert not r
    assert r.verdict == "failed"
    assert list(r) == ["logits", "label"]
    assert r["logits"].max_abs == pytest.approx(1e-3, rel=1e-3)
    assert (r["logits"].failed, r["logits"].elements, r["logits"].type) == (40, 40, "float32[4,10]")
    assert r["logits"].of_range == pytest.approx(1e-3 / np.abs(old["logits"]).max(), rel=1e-3)
    assert r["logits"].worst.candidate == pytest.approx(r["logits"].worst.reference + 1e-3, rel=1e-3)
    assert r["label"].passed
    assert [item.name for item in r.failures] == ["logits"]
    assert polycmp.compare(new, old, atol=1e-2).passed


def test_figures_that_nobody_computed_are_nan():
    r = polycmp.compare(np.arange(5.0), np.arange(6.0))
    assert math.isnan(r["output"].max_abs)
    assert math.isnan(polycmp.compare(np.array([np.nan, 1.0]), np.array([1.0, 1.0]))["output"].max_abs)


def test_it_prints_as_the_command_line_does(new, old):
    r = polycmp.compare(new, old, atol=1e-4)
    assert repr(r) == str(r)
    assert "FAIL   logits   float32[4,10]" in str(r)
    assert str(r).endswith("FAILED: 1 of 2 outputs differs")
    assert "Version" not in str(r)  # nothing ran


def test_a_wrong_attribute_is_seen_by_a_type_checker(tmp_path):
    script = tmp_path / "mine.py"
    script.write_text(
        dedent(
            """
            import numpy as np
            import polycmp

            r = polycmp.compare({"x": np.arange(3.0)}, {"x": np.arange(3.0)}, atol=1e-4)
            error: float = r["x"].max_abs
            passed: bool = r.passed
            located = polycmp.run("m.onnx", "onnxrt", "openvino", shapes={"batch": 4}).locate()
            operator: str = located.operator
            polycmp.assert_close([1.0], [1.0])
            reveal_type(r["x"])
            r["x"].max_error
            r.is_fine
            located.layer
            r["x"].max_abs.logits
            polycmp.compare(1.0)
            """
        )
    )
    told = mypy(script)
    lines = [line for line in told.splitlines() if script.name in line and ": note: " not in line]
    assert [int(line.split(":")[1]) for line in lines] == [12, 13, 14, 15, 16], told
    assert "polycmp.builtin.api.quick.answers.OutputResult" in told
    assert "Any" not in told


def test_a_table_of_pandas(new, old):
    pytest.importorskip("pandas")
    table = polycmp.compare(new, old, atol=1e-4).to_pandas()
    assert list(table["name"]) == ["logits", "label"]
    assert table.set_index("name").loc["logits", "max_abs"] == pytest.approx(1e-3, rel=1e-3)
    assert "simple.max_abs" in table.columns


def test_without_pandas_it_says_what_to_install(new, old, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(polycmp.errors.PluginError, match="pip install pandas"):
        polycmp.compare(new, old).to_pandas()


@pytest.mark.parametrize("key", [0, None, ("y", "z")])
def test_what_is_no_name_is_refused_in_a_sentence(key):
    found = polycmp.compare({"y": np.ones(3), "z": np.ones(2)}, {"y": np.ones(3), "z": np.ones(2)}, atol=1e-3)
    with pytest.raises(KeyError) as failed:
        found[key]
    assert str(failed.value) == f"outputs are found by their names, and {key!r} is none\n  why:  known: y, z"
    assert key not in found
    assert found.get(key) is None
