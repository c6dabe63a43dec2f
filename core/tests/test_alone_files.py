"""What a run writes down to be repeated: run files and scripts."""

from __future__ import annotations

import subprocess
import sys

import pytest
from toymodels import small

BACKENDS = ("-b", "toy:name=bad,fault=add,at=y,amount=0.5", "-b", "plain")


@pytest.fixture
def model(tmp_path):
    return small(tmp_path / "m.toy")


# --- run files

WORDS = {
    "plain": (),
    "tolerances": ("--atol", "y:0.6", "y*:1", "--rtol", "0.1", "--compare", "simple", "l2", "--l2-threshold", "9"),
    "data": ("--input-shapes", "x:[2,8]", "x:[3,8]", "--iterations", "2", "--val-range", "[-1,1]", "--seed", "7"),
    "options": ("--plain", "--toy-dtype", "float16", "--toy-mark-all", "--validate", "--warm-up", "1"),
    "loader": ("--data-loader", "ramp", "--ramp-step", "0.5", "--compare", "signs", "--signs-allowed", "3"),
}


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_a_run_file_repeats_a_run(polycmp, model, words):
    first = polycmp("run", "m.toy", *BACKENDS, *words, "--write-config", "run.toml", "--report", "first.json")
    again = polycmp("run", "--config", "run.toml", "--report", "r.json")
    assert again.status == first.status, again.out + again.err
    one, two = first.report("first.json"), again.report()
    assert one["comparison_results"] == two["comparison_results"]
    assert list(one["inference_results"]) == list(two["inference_results"])


def test_the_command_line_wins_over_a_run_file(polycmp, model, tmp_path):
    text = 'model = "m.toy"\nbackend = ["toy:fault=add,at=y,amount=0.5", "plain"]\natol = 1\n'
    (tmp_path / "run.toml").write_text(text)
    assert polycmp("run", "--config", "run.toml").status == 0
    assert polycmp("run", "--config", "run.toml", "--atol", "0.1").status == 1


@pytest.mark.parametrize(
    ("text", "status", "says"),
    [
        ("backend = 3", 2, "`backend` a list of texts"),
        ("backend = [3]", 2, "`backend` a list of texts"),
        ("model = 3", 2, "`model` is a text"),
        ('modle = "m.toy"', 2, "there is no option 'modle'"),
        ("atol = [", 3, "is no TOML"),
        (None, 3, "cannot read the run file"),
    ],
)
def test_run_files_that_are_none(polycmp, model, tmp_path, text, status, says):
    if text is not None:
        (tmp_path / "run.toml").write_text(text)
    done = polycmp("run", "--config", "run.toml")
    assert (done.status, says in done.err) == (status, True), done.err


# --- scripts


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ((), 1),
        (("--atol", "0.6", "--input-shapes", "x:[2,8]", "--iterations", "2", "--save-outputs", "o.json"), 0),
        (("--compare", "l2", "cosine_similarity", "--l2-threshold", "9", "--cosine-similarity-threshold", "-1"), 0),
        (("--postprocess", "top-1", "--validate", "--sequential-runners", "--warm-up", "1"), 0),
        (("--load-inputs", "i.json", "--load-outputs", "good.json", "--reference", "plain"), 1),
    ],
)
def test_a_script_does_what_the_command_does(polycmp, model, tmp_path, words, status):
    good = polycmp("run", "m.toy", "-b", "plain:name=good", "--save-inputs", "i.json", "--save-outputs", "good.json")
    assert good.status == 0
    assert polycmp("run", "m.toy", *BACKENDS, *words, "--gen-script", "again.py").status == 0
    text = (tmp_path / "again.py").read_text()
    assert "from toybox.runner import ToyRunner" in text
    done = subprocess.run([sys.executable, "again.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    if "--save-outputs" in words:
        assert (tmp_path / "o.json").exists()


@pytest.mark.parametrize(
    "words",
    [("--data-loader", "ramp"), ("--compare", "signs"), ("--report", "r.json"), ("--check-average",)],
)
def test_what_a_script_cannot_say(polycmp, model, words):
    done = polycmp("run", "m.toy", *BACKENDS, *words, "--gen-script", "-")
    assert (done.status, "--gen-script: a script" in done.err) == (2, True), done.err
