"""The process that runs one case after another, or one alone."""

from __future__ import annotations

import pytest
from suite_frail import notes, ran
from suite_processes import processes_in
from suite_texts import HEAD, case


def test_cases_that_name_no_code_run_in_one_process_each_with_its_own_messages_time_and_environment(frail):
    results = ran(frail, "a", "b", "sets", "c")
    assert {item["state"] for item in results.values()} == {"passed"}
    assert len({pid for _, pid, _ in notes(frail)}) == 1
    assert {stem: environment for stem, _, environment in notes(frail)}["c"] == "unset"  # the suite's own
    for name, other in (("a", "b"), ("b", "a")):
        log = (frail.latest / "cases" / results[name]["folder"] / "log.txt").read_text()
        assert "PASSED" in log
        assert f"/{other}-" not in log
        assert results[name]["seconds"] > 0
        assert results[name]["memory"] > 1 << 20


@pytest.mark.parametrize("does", ["leaves", pytest.param("starts", marks=pytest.mark.corpus)])
def test_what_a_case_leaves_running_ends_with_it(frail, does):
    results = ran(frail, does, "b", "c")
    assert {item["state"] for item in results.values()} == {"passed"}
    processes = {stem: pid for stem, pid, _ in notes(frail)}
    assert processes[does] != processes["b"] == processes["c"]
    assert processes_in(frail.folder) == []


def test_a_module_beside_the_suite_is_not_imported(suite):
    (suite.folder / "numpy.py").write_text("raise SystemExit('the wrong numpy')\n")
    suite.write(HEAD + case("one"))
    suite.process("suite.toml", status=0)
