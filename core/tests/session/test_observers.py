"""Files of inputs and outputs that a run saves: what they hold, and what is said that they lack."""

from __future__ import annotations

import numpy as np

from polycmp.results.files import open_inputs, open_runs

BAD = "toy:name=bad,fault=raise,at=y"


def test_each_iteration_is_saved_as_the_backends_made_it(run, tmp_path):
    words = ("--iterations", "2", "--save-inputs", "i.npz", "--save-outputs", "o.npz", "--save-input-blob", "blobs")
    _, report = run("-b", "toy", "-b", "plain", *words)
    assert len(list(open_inputs([tmp_path / "i.npz"]))) == 2
    assert [(saved.label, saved.count) for saved in open_runs(tmp_path / "o.npz")] == [("toy", 2), ("plain", 2)]
    assert len(list((tmp_path / "blobs").rglob("x.bin"))) == 2
    assert not [note for note in report["notes"] if "o.npz" in note]


def test_a_run_that_was_loaded_is_not_saved_again(run, tmp_path):
    run("-b", "plain:name=old", "--save-outputs", "old.npz")
    run("-b", "toy", "--load-outputs", "old.npz", "--save-outputs", "o.npz")
    assert [saved.label for saved in open_runs(tmp_path / "o.npz")] == ["toy"]


def test_what_a_file_lacks_of_a_backend_that_failed_is_said(run, tmp_path):
    words = ("-b", "plain", "--iterations", "3", "--save-outputs", "o.npz")
    _, report = run("-b", BAD, *words)
    assert "o.npz lacks bad, which gave no outputs" in report["notes"]
    _, report = run("-b", f"{BAD},after=1", *words)
    assert "o.npz holds 1 of 3 iterations of bad" in report["notes"]
    assert [(saved.label, saved.count) for saved in open_runs(tmp_path / "o.npz")] == [("bad", 1), ("plain", 3)]


def test_where_nothing_ran_nothing_is_written_and_an_older_file_stays(run, tmp_path):
    np.savez(tmp_path / "o.npz", y=np.ones(3))
    done, report = run("-b", BAD, "--save-outputs", "o.npz")
    assert done.status == 3
    assert "o.npz is not written: there were no outputs" in report["notes"]
    assert np.load(tmp_path / "o.npz")["y"].tolist() == [1.0] * 3
