"""`polycmp …` commands that run one after the other in a process of their own."""

from __future__ import annotations

from pathlib import Path

from toymodels import small


def test_a_polycmp_check_in_one_process(polycmp, tmp_path):
    small(tmp_path / "m.toy")
    check = ("--check", "polycmp", "run", "m.toy", "-b", "toy", "-b", "plain")
    words = ("--until", "3", "--report", "found.json", *check)
    done = polycmp("debug", "repeat", *words)
    assert done.status == 0, done.out + done.err
    assert [step["status"] for step in done.report("found.json")["steps"]] == [0, 0, 0]


def test_a_polycmp_check_that_crashes_is_a_failed_step_and_the_next_one_runs(polycmp, tmp_path):
    small(tmp_path / "m.toy")
    Path("dies.py").write_text("import os, signal\n\n\ndef load_data():\n    os.kill(os.getpid(), signal.SIGKILL)\n")
    crash = ("polycmp", "run", "m.toy", "-b", "toy", "--data-loader-script", "dies.py")
    done = polycmp("debug", "repeat", "--until", "2", "--report", "found.json", "--check", *crash)
    statuses = [step["status"] for step in done.report("found.json")["steps"]]
    assert (done.status, len(statuses)) == (0, 2), done.out + done.err
    assert "Finished 2 iteration(s) | Passed: 0/2 | Pass Rate: 0.0%" in done.out
    assert all(status == -9 for status in statuses), statuses


def test_a_polycmp_command_is_run_again_and_again_in_one_process(check, tmp_path):
    small(tmp_path / "m.toy")
    command = check("polycmp", "run", "m.toy", "-b", "toy", "-b", "plain")
    assert command.reads_in_place
    assert [command.run().status for _ in range(2)] == [0, 0]
    (tmp_path / "m.toy").unlink()
    checked = command.run(quiet=True)
    assert (checked.passed, checked.status) == (False, 3)
    assert "no such model file" in checked.output
    assert not check("true").reads_in_place
