"""What a run writes down to be repeated: run files."""

from __future__ import annotations

import pytest

BACKENDS = ("-b", "toy:name=bad,fault=add,at=y,amount=0.5", "-b", "plain")


WORDS = {
    "plain": (),
    "tolerances": ("--atol", "y:0.6", "y*:1", "--rtol", "0.1", "--compare", "simple", "gap", "--gap-allowed", "9"),
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
    text = 'model = "m.toy"\nbackend = ["toy:fault=add,at=y,amount=0.5", "plain"]\natol = 1\nallow-blind = true\n'
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
        ("atol = [", 3, "is not valid TOML"),
        (None, 3, "cannot read the run file"),
    ],
)
def test_run_files_that_are_none(polycmp, model, tmp_path, text, status, says):
    if text is not None:
        (tmp_path / "run.toml").write_text(text)
    done = polycmp("run", "--config", "run.toml")
    assert (done.status, says in done.err) == (status, True), done.err
