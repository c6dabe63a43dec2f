"""Runs that Ctrl-C ends say what the finished iterations showed."""

from __future__ import annotations

import pytest
from toymodels import small

SCRIPT = """
import os, signal
import numpy as np

def load_data():
    for index in range(5):
        if index == WHEN:
            os.kill(os.getpid(), signal.SIGINT)
        yield {"x": np.full((2, 8), index + 1, np.float32)}
"""


@pytest.mark.parametrize(
    ("when", "fault", "said"),
    [
        (3, "", "polycmp: 3 iterations were compared: 1 output within tolerance\n"),
        (2, ":fault=add,at=y,amount=0.5", "polycmp: 2 iterations were compared: 1 of 1 output differs, 'y': "),
        (0, "", ""),
    ],
)
def test_ctrl_c_says_what_the_finished_iterations_showed(polycmp, tmp_path, when, fault, said):
    small(tmp_path / "m.toy")
    (tmp_path / "data.py").write_text(SCRIPT.replace("WHEN", str(when)))
    done = polycmp("run", "m.toy", "-b", f"toy{fault}", "-b", "plain", "--data-loader-script", "data.py")
    assert done.status == 130
    assert said in done.err
    assert ("compared" in done.err) == bool(said)
    assert done.err.endswith("polycmp: interrupted\n")
    assert "PASSED" not in done.out


def test_of_how_many_iterations_they_are_is_said_where_it_is_known(polycmp, tmp_path):
    small(tmp_path / "m.toy")
    (tmp_path / "compare.py").write_text(
        "import os, signal\nseen = []\n"
        "def compare_outputs(candidate, reference):\n"
        "    seen.append(1)\n"
        "    if len(seen) == 4:\n        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return {name: True for name in candidate}\n"
    )
    words = ("--iterations", "9", "--compare-func-script", "compare.py", "--allow-blind")
    done = polycmp("run", "m.toy", "-b", "toy", "-b", "plain", *words)
    assert done.status == 130
    assert "of 9 iterations were compared: 1 output within tolerance" in done.err
