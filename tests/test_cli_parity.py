"""Every command and option of Polygraphy 0.53.6 is there, or listed with what to do instead.

The list was read from the installed package by `tools/record_cli.py`.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from cli_table import ABSENT, COMMANDS, DIFFERENCES, differences, flags_of, spellings
from live_polygraphy import POLYGRAPHY_PYTHON, live

from polycmp.plugins import Registry

BUILT = [command for command in COMMANDS if command not in ABSENT]


@pytest.fixture(scope="module")
def registry():
    return Registry.discover()


@pytest.mark.parametrize("command", BUILT)
def test_every_option_is_there_or_listed(registry, command):
    missing = spellings(command) - flags_of(command, registry)
    listed = differences(command)
    replaced = {flag for flag, entry in listed.items() if entry["kind"] == "replaced"}  # there, to say by what
    assert missing == set(listed) - replaced


@pytest.mark.parametrize("command", BUILT)
def test_every_option_that_takes_a_value_takes_it_behind_an_equals_sign(registry, polycmp, command):
    flags = sorted(spellings(command) & flags_of(command, registry, with_value=True))
    done = polycmp(*command.split(), "--help", *(f"{flag}={at}" for at, flag in enumerate(flags)))
    assert done.status == 0, done.err


def test_every_command_is_there_or_listed(registry):
    there = {command for command in COMMANDS if command in registry.commands}
    assert set(COMMANDS) - there <= set(ABSENT)
    assert {command for command in ABSENT if ABSENT[command]["kind"] == "refused"}.isdisjoint(there)


def test_the_list_speaks_of_nothing_that_polygraphy_lacks():
    every = set().union(*map(spellings, COMMANDS))
    assert set(DIFFERENCES["*"]) <= every
    for command in set(DIFFERENCES) - {"*", "commands"}:
        assert set(DIFFERENCES[command]) <= spellings(command)
    assert set(ABSENT) <= set(COMMANDS)


@live
def test_the_list_is_that_of_the_installed_polygraphy():
    program = Path(__file__).parent / "tools/record_cli.py"
    done = subprocess.run([POLYGRAPHY_PYTHON, program], capture_output=True, text=True, check=True, timeout=120)
    assert json.loads(done.stdout)["commands"] == COMMANDS
