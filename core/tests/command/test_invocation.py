"""One call of a command: what was given, models, run files, reports, and what is told at the end."""

from __future__ import annotations

import numpy as np
import pytest
from toymodels import drawn, node, small, write

from polycmp.errors import FileError, ModelError, PolycmpError, UsageError
from polycmp.plan.sections import RunSection
from polycmp.report import Result


def test_what_is_the_commands_own_is_told_from_the_options_of_the_table(invocation):
    call = invocation("m.toy", "-b", "toy", "-v", "--warm-up", "2", "--toy-threads", "3")
    assert {**call.own_params, "backend": list(call.own_params["backend"])} == {
        "model": "m.toy", "reference_model": None, "backend": ["toy"], "verbose": 1, "quiet": 0,
    }  # fmt: skip
    assert call.path == "polycmp mine"
    assert call.verbose
    assert call.section(RunSection).warm_up == 2
    assert call.was_given("runner")
    assert call.was_given("runner", "toy")
    assert not call.was_given("runner", "plain")
    assert not call.was_given("data_loader")


@pytest.mark.parametrize(
    ("specs", "backends"),
    [
        (["toy"], ("toy", "toy:model=new.toy")),
        (["toy:threads=2", "plain"], ("toy:threads=2", "plain", "toy:threads=2,model=new.toy", "plain:model=new.toy")),
    ],
)
def test_a_second_model_is_run_by_the_same_backends(invocation, specs, backends):
    words = [word for spec in specs for word in ("-b", spec)]
    assert invocation("old.toy", "new.toy", *words).options.backends == backends


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("old.toy", "new.toy"), "a second model, new.toy, and no backend"),
        (("old.toy", "new.toy", "-b", "toy:model=x.toy"), "a second model, new.toy, where -b gives one with model="),
    ],
)
def test_a_second_model_that_nothing_runs_is_refused(invocation, words, what):
    with pytest.raises(UsageError) as refused:
        _ = invocation(*words).options
    assert refused.value.what == what


def test_what_was_typed_comes_before_what_a_run_file_says(invocation, tmp_path):
    file = tmp_path / "run.toml"
    file.write_text('model = "file.toy"\nbackend = ["plain"]\nwarm-up = 7\nsequential-runners = true\n')
    options = invocation("--config", str(file), "--warm-up", "2").options
    assert options.model == "file.toy"
    assert len(options.backends) == 1
    assert options.of("core", "run") == {"warm_up": 2, "sequential_runners": True}
    typed = invocation("typed.toy", "-b", "toy", "--config", str(file)).options
    assert (typed.model, typed.backends) == ("typed.toy", ("toy",))
    with pytest.raises(FileError):
        _ = invocation("--config", str(tmp_path / "gone.toml")).options


def test_a_command_opens_its_model_with_shapes_by_input_or_by_dimension(invocation, tmp_path):
    path = str(small(tmp_path / "m.toy"))
    assert invocation(path, "--input-shapes", "x:[3,8]").open_model().input_shapes == {"x": (3, 8)}
    assert invocation(path, "--input-shapes", "n=5").open_model().input_shapes == {"x": (5, 8)}
    assert invocation(path).open_model(input_shapes=["x:[2,8]"]).input_shapes == {"x": (2, 8)}
    marked = invocation(path, "--toy-mark-all").open_model()
    assert list(marked.describe().outputs) == ["h", "r", "y"]


def test_a_command_without_a_model_says_where_it_goes(invocation):
    with pytest.raises(UsageError, match="no model given") as refused:
        invocation().open_model()
    assert refused.value.hint == "polycmp mine MODEL (put the model first)"
    with pytest.raises(ModelError, match="no such model file"):
        invocation("gone.toy").open_model()


def test_a_command_without_backends_shows_an_example(invocation):
    with pytest.raises(UsageError, match="no backend given") as refused:
        invocation("m.toy").needs_backends("polycmp mine m.toy -b toy")
    assert refused.value.hint == "polycmp mine m.toy -b toy"
    invocation("m.toy", "-b", "toy").needs_backends("")


def test_a_report_that_would_overwrite_the_model_is_refused(invocation, tmp_path):
    path = str(small(tmp_path / "m.json"))
    call = invocation(path, "--model-type", "toy", "--report", path)
    with pytest.raises(UsageError, match="overwrite"):
        call.open_model()


def test_a_result_is_shown_its_reports_written_and_errors_of_observers_raised(
    invocation, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    call = invocation("m.toy", "--report", "r.json")
    call.begin()
    assert call.present(Result("mine", "failed", "FAILED", "one differs")) == 1
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-1] == "FAILED: one differs"
    assert "wrote r.json" in captured.err
    assert (tmp_path / "r.json").exists()
    quiet = invocation("m.toy", "-q")
    quiet.begin()
    with pytest.raises(PolycmpError, match="half of it is missing"):
        quiet.present(Result("mine", "passed", "PASSED", "all is well"), [PolycmpError("half of it is missing")])
    assert "wrote" not in capsys.readouterr().err


def test_the_words_that_were_typed_are_the_command_of_the_report(polycmp, tmp_path):
    write(tmp_path / "m.toy", [node("MatMul", "x w", "y")], {"w": drawn(8, 2)})
    np.savez(tmp_path / "in put.npz", x=np.ones((1, 8), np.float32))
    done = polycmp("run", "m.toy", "-b", "toy", "-b", "plain", "--load-inputs", "in put.npz", "--report", "r.json")
    assert done.report()["command"] == ("polycmp run m.toy -b toy -b plain --load-inputs 'in put.npz' --report r.json")
