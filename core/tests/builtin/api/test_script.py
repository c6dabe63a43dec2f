"""What `--gen-script` writes: a program that does what the command does."""

from __future__ import annotations

import pytest
from copied_processes import script_copied

from polycmp.comparator import DataLoader

BACKENDS = ("-b", "toy:name=bad,fault=add,at=y,amount=0.5", "-b", "plain")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ((), 1),
        pytest.param(("--atol", "0.6"), 3, marks=pytest.mark.corpus),
        (
            (
                "--atol",
                "0.6",
                "--allow-blind",
                "y",
                "--input-shapes",
                "x:[2,8]",
                "--iterations",
                "2",
                "--save-outputs",
                "o.json",
            ),
            0,
        ),
        pytest.param(
            ("--compare", "l2", "cosine_similarity", "--l2-threshold", "9", "--cosine-similarity-threshold", "0.5"),
            3,
            marks=pytest.mark.corpus,
        ),
        pytest.param(
            ("--compare", "l2", "cosine_similarity", "--l2-threshold", "9", "--allow-blind"),
            0,
            marks=pytest.mark.corpus,
        ),
        (("--postprocess", "top-1", "--validate", "--sequential-runners", "--warm-up", "1"), 0),
        (("--load-inputs", "i.json", "--load-outputs", "good.json", "--reference", "plain"), 1),
        pytest.param(("--reference", "toy"), 1, marks=pytest.mark.corpus),
    ],
)
def test_a_script_does_what_the_command_does(polycmp, model, tmp_path, words, status):
    good = polycmp("run", "m.toy", "-b", "plain:name=good", "--save-inputs", "i.json", "--save-outputs", "good.json")
    assert good.status == 0
    assert polycmp("run", "m.toy", *BACKENDS, *words, "--gen-script", "again.py").status == 0
    text = (tmp_path / "again.py").read_text()
    assert "from toybox.runner import ToyRunner" in text
    done = script_copied("again.py", tmp_path)
    assert done.returncode == status, done.stdout + done.stderr
    if "--save-outputs" in words:
        assert (tmp_path / "o.json").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--data-loader", "ramp"),
        ("--compare", "signs"),
        ("--report", "r.json"),
        ("--check-average",),
        ("--tolerance", "auto"),
        ("--save-input-blob",),
    ],
)
def test_what_a_script_cannot_say(polycmp, model, words):
    done = polycmp("run", "m.toy", *BACKENDS, *words, "--gen-script", "-")
    assert (done.status, "--gen-script: a script" in done.err) == (2, True), done.err


def test_a_script_may_use_a_plugins_function(polycmp, model, tmp_path):
    words = ("--compare", "gap", "--gap-allowed", "0.4")
    assert polycmp("run", "m.toy", *BACKENDS, *words, "--gen-script", "again.py").status == 0
    assert "Gap(allowed=0.4)" in (tmp_path / "again.py").read_text()
    done = script_copied("again.py", tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr


def test_a_script_may_use_a_function_without_options(polycmp, model, tmp_path):
    assert polycmp("run", "m.toy", *BACKENDS, "--compare", "same", "--gen-script", "again.py").status == 0
    assert "Same()" in (tmp_path / "again.py").read_text()
    done = script_copied("again.py", tmp_path)
    assert (done.returncode, "FAILED" in done.stdout) == (1, True), done.stdout + done.stderr


def test_a_run_file_beside_a_script_repeats_the_run(polycmp, model, tmp_path):
    words = ("--gen-script", "again.py", "--write-config", "run.toml")
    assert polycmp("run", "m.toy", *BACKENDS, *words).status == 0
    assert "script" not in (tmp_path / "run.toml").read_text()
    assert polycmp("run", "--config", "run.toml").status == 1


def test_the_data_loader_of_python_programs_says_that_its_numbers_are_made_up():
    assert DataLoader().synthetic
