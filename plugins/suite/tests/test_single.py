"""One case alone, as the plugin for pytest runs it: with its further attempts, and the search where it differs."""

from __future__ import annotations

import pytest
from copied_processes import copy_cases
from in_process import plugins_installed
from suite_texts import DIFFER, HEAD, case

from polycmp_suite.running.single import run_case
from polycmp_suite.spec import Resources
from polycmp_suite.suitefile.read import read_suite

#: A data loader whose first attempts end its process.
LUCK = """
import os
from pathlib import Path
import numpy as np
def load_data():
    with Path("tries").open("a") as file:
        file.write("x")
    if Path("tries").stat().st_size < 3:
        os.abort()
    yield {"x": np.ones((1, 4), np.float32)}
"""


@pytest.fixture
def run(suite, monkeypatch, tmp_path_factory):
    """Run the only case of a suite file, in copies of this process."""
    copy_cases(monkeypatch)
    monkeypatch.chdir(suite.folder)

    def start(text):
        suite.write(text)
        [item] = read_suite(str(suite.path), plugins_installed()).cases
        return run_case(item, str(suite.folder), tmp_path_factory.mktemp("output"), Resources(jobs=1))

    return start


@pytest.mark.parametrize(("retries", "state", "attempts"), [(2, "passed", 3), (1, "error", 2)])
def test_what_could_not_be_compared_is_tried_again_as_often_as_it_may_be(suite, run, retries, state, attempts):
    (suite.folder / "luck.py").write_text(LUCK)
    result = run(HEAD + case("luck", f'data-loader-script = "luck.py"\nretries = {retries}'))
    assert (result.state, result.attempts) == (state, attempts)


def test_a_difference_is_searched_where_the_case_asks_for_that_and_not_tried_again(run):
    pytest.importorskip("polycmp_locate")
    result = run(HEAD + case("bad", DIFFER + "locate = 60\nretries = 2"))
    assert (result.state, result.attempts) == ("failed", 1)
    assert result.located.startswith("wrong: Mul ")
