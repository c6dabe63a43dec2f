"""Command lines that Polygraphy accepts, too: success where it succeeds, failure where it fails, and no traceback.

What Polygraphy does stands in the table; `make test-polygraphy` holds it against an installed one.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import onnx
import pytest
from live_polygraphy import POLYGRAPHY_PYTHON, live
from tool_commands import lines, make_files


@pytest.mark.parametrize(
    ("theirs", "ours", "words"),
    [
        pytest.param(*line, marks=() if index % 8 == 0 else pytest.mark.corpus, id=" ".join(line[2]))
        for index, line in enumerate(lines())
    ],
)
def test_a_line_that_both_tools_accept(polycmp, tmp_path, theirs, ours, words):
    make_files(tmp_path)
    done = polycmp(*words)  # which asserts that there is no traceback
    assert done.status == ours, done.err
    assert bool(theirs) == bool(ours)
    made = tmp_path / "made.onnx"
    if ours:
        assert not made.exists()
    elif made.exists() and words[:2] != ["surgeon", "weight-strip"] and "Scale" not in words:
        onnx.checker.check_model(str(made))


@live
@pytest.mark.parametrize(("theirs", "ours", "words"), lines(), ids=[" ".join(words) for _, _, words in lines()])
def test_what_the_table_says_of_polygraphy(tmp_path, theirs, ours, words):
    make_files(tmp_path)
    polygraphy = Path(POLYGRAPHY_PYTHON).parent / "polygraphy"
    done = subprocess.run([polygraphy, *words], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == theirs, done.stdout + done.stderr
