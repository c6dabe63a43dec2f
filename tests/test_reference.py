"""`--reference` means the same run in every command: that of a label, or of a backend that runs once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

#: Commands in which one backend is believed.
COMMANDS = (("run",), ("locate",), ("locate", "--rank"), ("debug", "reduce"))
RUN_TWICE = ("-b", "onnxrt:name=one", "-b", "onnxrt:name=two")
ONCE_EACH = ("-b", "onnx:name=exact", "-b", "onnxrt:name=fast")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("backends", "name", "what", "why"),
    [
        (RUN_TWICE, "onnxrt", "'onnxrt' is the backend of 2 runs", "their labels are 'one' and 'two'"),
        (ONCE_EACH, "exacd", "no run is called 'exacd'", "did you mean 'exact'?"),
    ],
)
def test_a_name_of_no_run_or_of_several_is_refused_in_one_wording(polycmp, model, command, backends, name, what, why):
    done = polycmp(*command, model, *backends, "--reference", name)
    assert done.status == 2, done.err
    assert f"--reference: {what}" in done.err
    assert why in done.err
    assert "next: give it the label" in done.err


@pytest.mark.parametrize("name", ["onnx", "exact"])
@pytest.mark.parametrize("command", ["run", "locate"])
def test_a_backend_that_runs_once_may_be_named(polycmp, model, command, name):
    words = ("-b", "onnx:name=exact", "-b", "onnxrt:name=fast", "--reference", name, "--report", "r.json")
    done = polycmp(command, model, *words)
    assert done.status in {0, 3}, done.err
    results = json.loads(Path("r.json").read_text())
    assert results["reference"] == "exact"


def test_files_are_ranked_beside_the_backend_that_was_named(polycmp, model, other):
    words = ("-b", "onnx:name=exact", "-b", f"onnxrt:model={other}", "--reference", "onnx", "--report", "r.json")
    done = polycmp("locate", model, *words, "--rank")
    assert done.status in {0, 1}, done.err
    assert json.loads(Path("r.json").read_text())["reference"] == "exact"


def test_a_saved_run_is_believed_by_its_label(polycmp, model):
    assert polycmp("run", model, "-b", "onnx", "--mark-all", "--save-outputs", "saved.npz").status == 0
    done = polycmp("locate", model, "-b", "onnxrt", "--load-outputs", "saved.npz", "--reference", "onnxrt")
    assert done.status == 2
    assert "--reference: no saved run is called 'onnxrt'" in done.err
