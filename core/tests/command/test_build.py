"""Plans of a command line: what has to be given, what nothing uses, and run files in both directions."""

from __future__ import annotations

import pytest
from in_process import plugins_installed
from toymodels import small

from polycmp.command.build import build_plan, read_run_file, unused_options, write_run_file
from polycmp.errors import FileError, UsageError
from polycmp.options import Key, OptionValues
from polycmp.plan.flags import build_table
from polycmp.plan.sections import SECTIONS
from polycmp.plan.text import to_values


@pytest.fixture
def registry(toybox):
    return plugins_installed()


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"model": "m.toy"}, "no backend given"),
        ({"backends": ("toy",)}, "no model given"),
        (
            {
                "model": "m.toy",
                "backends": ("toy",),
                "values": {
                    Key("core", "data", "data_loader_script"): "d.py",
                    Key("core", "data", "load_inputs"): ("i.npz",),
                },
            },
            "--data-loader-script and --load-inputs both say where inputs come from",
        ),
    ],
)
def test_what_a_run_needs_is_asked_for(registry, given, what):
    with pytest.raises(UsageError) as refused:
        build_plan(OptionValues(classes=SECTIONS, **given), registry)
    assert refused.value.what == what
    assert refused.value.hint


def test_each_backend_may_bring_its_model_and_saved_runs_need_none(registry):
    assert build_plan(OptionValues(classes=SECTIONS, backends=("toy:model=a.toy",)), registry).model == ""
    saved = OptionValues({Key("core", "result", "load_outputs"): ("o.npz",)}, SECTIONS)
    assert build_plan(saved, registry).files.load_outputs == ("o.npz",)


def test_options_of_a_backend_that_takes_no_part_are_told(registry):
    values = OptionValues(
        {Key("runner", "toy", "threads"): 2, Key("runner", "toy", "dtype"): "float16"},
        SECTIONS, model="m.toy", backends=("plain",),
    )  # fmt: skip
    table = build_table(registry)
    assert unused_options(values, build_plan(values, registry), table) == [
        "--toy is not among the backends, so nothing uses --toy-threads, --toy-dtype"
    ]


def test_a_run_file_that_is_written_is_read_as_the_same_plan(registry, tmp_path):
    path = str(small(tmp_path / "m.toy"))
    values = OptionValues(
        {Key("core", "run", "warm_up"): 3, Key("runner", "toy", "threads"): 2},
        SECTIONS, model=path, backends=("toy:name=a", "plain"),
    )  # fmt: skip
    plan, table = build_plan(values, registry), build_table(registry)
    file = tmp_path / "run.toml"
    write_run_file(to_values(plan, registry), str(file))
    assert file.read_text().startswith("# polycmp run --config run.toml\n")
    read = read_run_file(str(file), table)
    again = OptionValues(read.values, table.classes, read.model, read.backends, read.wins, read.whose)
    assert build_plan(again, registry) == plan


@pytest.mark.parametrize(
    ("content", "error", "what"),
    [
        (b"warm-up = ", FileError, "is not valid TOML"),
        (b"\xff\xfe", FileError, "is not valid TOML"),
        (b"warm-upp = 2", UsageError, "there is no option 'warm-upp'"),
        (b"warm-up = 'many'", UsageError, "warm-up"),
        (b"save-outputs = ''", UsageError, "save-outputs"),
    ],
)
def test_a_run_file_that_cannot_be_right_is_refused_by_name(registry, tmp_path, content, error, what):
    file = tmp_path / "run.toml"
    file.write_bytes(content)
    with pytest.raises(error, match=what) as refused:
        read_run_file(str(file), build_table(registry))
    assert "run.toml" in str(refused.value)


def test_text_that_toml_cannot_hold_is_no_run_file(tmp_path):
    with pytest.raises(FileError, match="cannot write the run file"):
        write_run_file({"model": "\udcff.toy"}, str(tmp_path / "run.toml"))
    assert list(tmp_path.iterdir()) == []
