"""An option that gets no value, as in `--load-outputs "$UNSET"`, is wrong usage: it switches nothing off."""

from __future__ import annotations

import pytest
from in_parts import a_few

from polycmp.builtin.accuracy.command import accuracy_command
from polycmp.cli.run import run_command
from polycmp.options import option_fields
from polycmp.plugins import Registry
from polycmp_checks.invariants_command import invariants_command
from polycmp_checks.selftest_command import selftest_command
from polycmp_locate.command import locate_command
from polycmp_onnx.tools.convert import convert_command
from polycmp_onnx.tools.inspect import model_command

WITH_BACKEND = ("-b", "onnx")
COMMANDS = {
    "run": (run_command, ("run", "model.onnx", *WITH_BACKEND)),
    "locate": (locate_command, ("locate", "model.onnx", *WITH_BACKEND, *WITH_BACKEND)),
    "convert": (convert_command, ("convert", "model.onnx", "-o", "other.onnx")),
    "inspect": (model_command, ("inspect", "model", "model.onnx")),
    "check": (accuracy_command, ("check", "accuracy", "model.onnx")),
    "invariants": (invariants_command, ("invariants", "model.onnx", *WITH_BACKEND)),
    "selftest": (selftest_command, ("selftest", *WITH_BACKEND)),
}
#: Commands whose options are those of the others, and two or three more.
ALIKE = ("locate", "invariants", "selftest")
NAMES = [pytest.param(name, marks=pytest.mark.corpus if name in ALIKE else ()) for name in COMMANDS]
#: Options for which an empty value, or none, has a meaning of its own.
MEANT = {"--save-external-data", "--onnx-save-external-data", "--external-data-path"}


REGISTRY = Registry.discover()


def table_of(command):
    return command.table_of(REGISTRY)


def options_of(command):
    """Return every option with a value, by its first flag, of the core and of all plugins that are installed."""
    return [target for target in table_of(command).targets.values() if target.field.kind != "flag"]


@pytest.mark.parametrize(
    "spelling",
    [["{}", ""], *(pytest.param(words, marks=pytest.mark.corpus) for words in (["{}="], ["{}", '""'], ["{}", " "]))],
)
@pytest.mark.parametrize("name", NAMES)
def test_no_option_of_any_plugin_takes_an_empty_value(polycmp, model, name, spelling):
    command, words = COMMANDS[name]
    checked = 0
    for target in options_of(command):
        flag = target.flags[0]
        if flag in MEANT:
            continue
        empty = [word.format(flag) for word in spelling]
        done = polycmp(*words, *empty)
        assert done.status == 2, f"{empty}: {done.out}{done.err}"
        assert flag in done.err
        checked += 1
    assert checked > 10


@pytest.mark.parametrize("name", NAMES)
def test_no_option_for_several_values_takes_none(polycmp, model, name):
    command, words = COMMANDS[name]
    for target in options_of(command):
        if target.field.bare is None:
            done = polycmp(*words, target.flags[0])
            assert done.status == 2, f"{target.flags}: {done.out}{done.err}"
            assert target.flags[0] in done.err


@pytest.mark.parametrize(
    "values", [("", "[]"), pytest.param(("''", "[[]]", "['']"), marks=pytest.mark.corpus)], ids=["usual", "odd"]
)
def test_no_key_of_a_backend_takes_an_empty_value(polycmp, model, values):
    for name, item in REGISTRY.runners.items():
        keys = [field.name for field in option_fields(item.spec.options) if field.bare is None]
        for key in [*keys, "name", "model", "python"]:
            for value in values:
                if key in {"name", "model", "python"} and value not in {"", "''"}:
                    continue
                done = polycmp("run", model, "-b", f"{name}:{key}={value}")
                assert done.status == 2, f"{name}:{key}={value}: {done.out}{done.err}"
                assert key.replace("_", "-") in done.err.replace("_", "-")


def test_a_backend_of_another_environment_takes_no_empty_value_either(polycmp, model):
    done = polycmp("run", model, "-b", "elsewhere:python=/usr/bin/python3,depth=")
    assert done.status == 2
    assert "'depth' needs a value" in done.err


@pytest.mark.parametrize("value", a_few(['""', '[""]', "[]", "{}", "[[]]"], 2))
def test_no_key_of_a_run_file_takes_an_empty_value(polycmp, model, tmp_path, value):
    for target in options_of(run_command):
        flag = target.flags[0]
        if flag in {*MEANT, "--config"} or (target.field.bare == "" and value != '[""]'):
            continue
        (tmp_path / "run.toml").write_text(f'model = "model.onnx"\nbackend = "onnx"\n{flag[2:]} = {value}\n')
        done = polycmp("run", "--config", "run.toml")
        assert done.status == 2, f"{flag} = {value}: {done.out}{done.err}"
        assert flag.removeprefix("--") in done.err


@pytest.mark.parametrize("words", [["--compare"], ["--compare", ""], ["--compare", "simple", ""]])
@pytest.mark.parametrize("command", ["run", "locate"])
def test_a_comparison_by_no_function_is_refused(polycmp, model, other, command, words):
    done = polycmp(command, model, "-b", "onnx", "-b", f"onnx:model={other}", *words)
    assert done.status == 2
    assert "--compare" in done.err


def test_what_is_meant_to_be_empty_stays_so(polycmp, model):
    assert polycmp("convert", model, "-o", "a.onnx", "--save-external-data").status == 0
    assert table_of(run_command).by_flag["--trt-tactic-sources"].field.convert([[]]) == ()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('config = "other.toml"', "'config' is not allowed in a run file"),
        ("seed = 1\nrandom-seed = 2", "repeats another key"),
        ("atoll = 1", "there is no option 'atoll'"),
        ("[run]\nwarm-up = 1", "there is no option 'run'"),
    ],
)
def test_what_a_run_file_cannot_say_is_refused(polycmp, model, tmp_path, line, says):
    (tmp_path / "run.toml").write_text(f'model = "model.onnx"\nbackend = "onnx"\n{line}\n')
    done = polycmp("run", "--config", "run.toml")
    assert done.status == 2
    assert says in done.err


def test_options_of_a_plugins_own_command_take_no_empty_value(polycmp, tmp_path):
    pytest.importorskip("polycmp_trt")
    (tmp_path / "good").mkdir()
    (tmp_path / "bad").mkdir()
    assert polycmp("inspect", "diff-tactics", "--dir", ".").status == 0
    for empty in (["--good", ""], ["--good="], ["--good", " "]):
        done = polycmp("inspect", "diff-tactics", "--dir", ".", *empty)
        assert done.status == 2
        assert "--good" in done.err


def test_a_plugins_own_command_is_left_as_the_plugin_made_it(polycmp, tmp_path):
    command = pytest.importorskip("polycmp_trt.show.commands").diff_tactics
    before = [param.callback for param in command.params]
    assert polycmp("inspect", "diff-tactics", "--dir", ".", "--good", "").status == 2
    assert [param.callback for param in command.params] == before
