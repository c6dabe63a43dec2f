"""`polycmp compare`: of saved outputs the last file is the reference; what it cannot compare is refused by name."""

from __future__ import annotations

from saved_data import outputs


def test_the_last_file_is_the_reference(polycmp, tmp_path):
    outputs(tmp_path / "new.npz", "mine", 1.5)
    outputs(tmp_path / "old.json", "theirs", 1.0)
    done = polycmp("compare", "new.npz", "old.json", "--report", "r.json")
    assert done.status == 1
    [pair] = done.report()["comparison_results"]
    assert (pair["candidate"], pair["reference"]) == ("mine", "theirs")
    assert pair["outputs"]["o"]["max_error"] == 0.5
    assert pair["outputs"]["o"]["max_relative_error"] == 0.5


def test_without_files_an_example_is_shown(polycmp):
    done = polycmp("compare")
    assert (done.status, "next: polycmp compare NEW.npz OLD.npz" in done.err) == (2, True)


def test_options_for_outputs_have_no_meaning_for_models(polycmp, model):
    for words in (("--no-shape-check",), ("--atol", "1")):
        done = polycmp("compare", "m.toy", "m.toy", *words)
        assert (done.status, "no option of comparing outputs has a meaning" in done.err) == (2, True)
        assert "next: polycmp run m.toy m.toy -b BACKEND" in done.err
