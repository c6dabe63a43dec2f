"""Words of a command line as values: several after a flag, flags of backends, files of values, what is refused."""

from __future__ import annotations

import pytest
from in_process import plugins_installed
from toymodels import small

from polycmp.command.invocation import Invocation
from polycmp.errors import FileError, PluginError, UsageError
from polycmp.options import Key
from polycmp.plan.build import make_plan


@pytest.fixture
def command(toybox):
    registry = plugins_installed()
    contribution = registry.find_command("run")
    return registry, registry.load(contribution, contribution.spec.target)


@pytest.fixture
def call(command):
    """Return the values of the words of `polycmp run`."""
    registry, run = command

    def parsed(*words):
        ctx = run.make_context("run", list(words), obj=registry)
        return Invocation(ctx, ctx.registry, ctx.table).options

    return parsed


@pytest.fixture
def completed(command):
    """Return what completes the last word, by the option before it."""
    registry, run = command

    def offered(option, beginning):
        ctx = run.context_class(run, obj=registry)
        param = next(item for item in run.get_params(ctx) if option in item.opts)
        return [item.value for item in param.shell_complete(ctx, beginning)]

    return offered


@pytest.mark.parametrize(
    "words",
    [
        ("m.toy", "--input-shapes", "a:[1]", "b:[2]"),
        ("m.toy", "--input-shapes", "a:[1]", "--input-shapes", "b:[2]"),
        ("--input-shapes", "a:[1]", "b:[2]", "-b", "toy", "m.toy"),
        ("--input-shapes", "a:[1]", "b:[2]", "--", "m.toy"),
    ],
)
def test_several_values_follow_a_flag_or_the_flag_is_repeated(call, words):
    options = call(*words)
    assert options.model == "m.toy"
    assert options.values[Key("core", "data", "input_shapes")] == ("a:[1]", "b:[2]")


def test_a_file_that_is_no_value_is_the_model(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"--rtol: 'gone\.toy' is not a value"):
        call("--rtol", "1e-3", "gone.toy")
    small("m.toy")
    options = call("--rtol", "1e-3", "m.toy")
    assert options.model == "m.toy"
    assert options.of("compare_func", "simple") == {"rtol": {"": 1e-3}}


def test_a_model_that_was_taken_for_the_last_value_is_given_back(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small("m.toy")
    options = call("--load-inputs", "a.npz", "m.toy")
    assert (options.model, options.of("core", "data")) == ("m.toy", {"load_inputs": ("a.npz",)})
    assert call("--load-inputs", "a.npz", "gone.toy").model == ""


def test_flags_of_backends_stand_for_instances_in_their_order(call):
    assert call("m.toy", "--plain", "-b", "toy:name=b", "--toy").backends == ("plain", "toy:name=b", "toy")


def test_an_alias_and_the_long_form_are_one_option(call):
    assert call("m.toy", "--toy-workers", "3").values == call("m.toy", "--toy-threads=3").values


def test_switches_can_be_turned_off_again(call):
    key = Key("core", "run", "use_subprocess")
    assert call("m.toy", "--use-subprocess").values[key] is True
    assert call("m.toy", "--use-subprocess", "--no-use-subprocess").values[key] is False
    assert key not in call("m.toy").values


def test_values_come_from_a_file_that_at_names(call, tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("\ufeffh\n\n  r \n")
    marked = ("m.toy", "--toy-outputs", f"@{names}", "y")
    assert call(*marked).of("loader", "toy") == {"outputs": ("h", "r", "y")}
    assert call("m.toy", "--toy-outputs", "@nothing.txt").of("loader", "toy") == {"outputs": ("@nothing.txt",)}
    names.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(FileError, match="cannot be read"):
        call(*marked)


@pytest.mark.parametrize(
    ("words", "error", "what"),
    [
        (("m.toy", "--warm-up"), UsageError, "--warm-up needs a value"),
        (("m.toy", "--warm-up", "many"), UsageError, "--warm-up"),
        (("m.toy", "--data-loader", "ramp", "--ramp-count", "-1"), UsageError, "count must not be negative"),
        (("m.toy", "--onnxrt"), PluginError, "onnxrt"),
        (("m.toy", "--onnxrt-threads", "2"), PluginError, "'onnxrt'"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(command, call, words, error, what):
    registry, _ = command
    with pytest.raises(error) as refused:
        make_plan(call(*words), registry)
    assert what in str(refused.value)


def test_an_option_of_a_package_that_is_not_there_names_the_package(call):
    with pytest.raises(PluginError) as refused:
        call("m.toy", "--onnxrt-threads", "2")
    assert refused.value.hint == "pip install 'polycmp-onnxrt[cpu]' (or [gpu])"


def test_an_option_of_a_backend_in_a_command_that_starts_none_names_both(command):
    registry, _ = command
    contribution = registry.find_command("compare")
    compare = registry.load(contribution, contribution.spec.target)
    with pytest.raises(UsageError, match="polycmp compare has no option --toy-workers") as refused:
        compare.make_context("polycmp compare", ["one.json", "two.json", "--toy-workers", "2"], obj=registry)
    assert refused.value.why == "it is an option of the backend 'toy', and this command starts none"


def test_an_unknown_option_says_where_options_come_from(call):
    with pytest.raises(UsageError, match="there is no option --frobnicate") as refused:
        call("m.toy", "--frobnicate", "2")
    assert refused.value.why.startswith("options come with backends, and these are not available here: ")


@pytest.mark.parametrize(
    ("option", "beginning", "offered"),
    [
        ("--backend", "pl", ["plain"]),
        ("--backend", "toy:fa", ["toy:fast", "toy:fault="]),
        ("--backend", "toy:fast,na", ["toy:fast,name="]),
        ("--backend", "nothing:", []),
        ("--toy-dtype", "float", ["float64", "float16"]),
        ("--data-loader", "ra", ["ramp", "random"]),
    ],
)
def test_the_shell_completes_names_keys_and_choices(completed, option, beginning, offered):
    assert sorted(completed(option, beginning)) == sorted(offered)
