"""Help texts: examples first, only what a command uses, and a plugin's options for those who ask for them."""

from __future__ import annotations

import shlex

import click
import pytest

from polycmp.command import BackendCommand
from polycmp.plugins import Registry

REGISTRY = Registry.discover()
COMMANDS = sorted(REGISTRY.commands)
EACH = pytest.mark.parametrize("command", COMMANDS)


def load(command: str) -> click.Command:
    found = REGISTRY.commands[command]
    made: click.Command = REGISTRY.load(found, found.spec.target)
    return made


def flags_of(command: str) -> set[str]:
    made = load(command)
    flags = {flag for param in made.params for flag in (*param.opts, *param.secondary_opts)}
    if isinstance(made, BackendCommand):
        table = made.table_of(REGISTRY)
        flags |= {*table.by_flag, *table.backends}
    if command == "suite":
        flags |= flags_of_suite()
    return flags


def flags_of_suite() -> set[str]:
    from polycmp_suite.command import run_command
    from polycmp_suite.diff_command import diff_command

    tables = [item.table_of(REGISTRY).by_flag for item in (run_command, diff_command)]
    own = {flag for param in run_command.params for flag in param.opts}
    return {"-j", "-k", *own, *(flag for table in tables for flag in table)}


def examples_of(text: str) -> list[str]:
    """Return the lines between `Examples:` and the next empty line, continued ones joined."""
    lines = text.partition("Examples:\n")[2].partition("\n\n")[0]
    return [line.strip() for line in lines.replace("\\\n", " ").splitlines()]


@EACH
def test_examples_stand_before_the_options_and_use_what_there_is(command, polycmp):
    shown = polycmp(*command.split(), "--help").out
    assert shown.startswith(f"Usage: polycmp {command}")
    assert 0 < shown.index("Examples:\n") < shown.index("Options:")
    assert f"polycmp {command}" in shown.partition("Examples:\n")[2].partition("Options:")[0]
    for example in examples_of(shown):
        words = shlex.split(example, comments=True)
        assert words[0] == "polycmp"
        known = max((name for name in COMMANDS if words[1 : 1 + len(name.split())] == name.split()), key=len)
        words = words[: min((words.index(word) for word in ("--check", "--") if word in words), default=None)]
        flags = [word.partition("=")[0] for word in words if word.startswith("-") and not word[1:2].isdigit()]
        assert set(flags) <= flags_of(known) | {">>", ">"}, example


@EACH
def test_options_of_plugins_are_folded_away(command, polycmp):
    made = load(command)
    if not isinstance(made, BackendCommand):
        pytest.skip("takes no options of plugins")
    table = made.table_of(REGISTRY)
    shown = polycmp(*command.split(), "--help").out
    for heading in table.folded:
        assert f"\n{heading}:" not in shown
    whole = polycmp(*command.split(), "--help", "all").out
    for heading in {target.section for target in table.targets.values() if not target.field.hidden}:
        assert f"\n{heading}:" in whole


def test_a_plugins_options_are_shown_to_those_who_ask(polycmp):
    shown = polycmp("run", "--help", "onnxrt")
    assert shown.status == 0
    assert "--onnxrt-threads" in shown.out
    assert "--warm-up" not in shown.out
    assert "--onnxrt-threads" not in polycmp("run", "--help").out
    # A name may be a backend's and a loader's.
    assert "Backend onnx:" in (both := polycmp("run", "--help", "onnx").out)
    assert "Model loader onnx:" in both
    assert polycmp("run", "m.onnx", "-b", "onnxrt", "-h", "onnxrt").out == shown.out
    assert polycmp("check", "accuracy", "-h", "l2").out.startswith("Compare function l2:")


def test_a_name_that_has_no_options_is_refused(polycmp):
    done = polycmp("run", "--help", "onnxtr")
    assert (done.status, done.out) == (2, "")
    assert "has no options of 'onnxtr'" in done.err
    assert "onnxrt" in done.err
    assert "next: polycmp run --help" in done.err
    assert "there are none" in polycmp("inspect", "data", "--help", "onnxrt").err


def test_help_names_whose_options_there_are(polycmp):
    shown = " ".join(polycmp("run", "--help").out.split())
    assert "More options, from plugins: see polycmp run --help NAME, or --help all:" in shown
    folded = load("run").table_of(REGISTRY)  # type: ignore[attr-defined]
    for target in folded.targets.values():
        assert target.section not in folded.folded or target.key.owner in shown


def test_every_group_of_commands_says_what_it_is_for(polycmp):
    """Two packages bring commands of `template`, and only one of them says what they are."""
    shown = polycmp("--help").out
    assert "Generate starter scripts." in shown
    assert "Commands: " not in shown
