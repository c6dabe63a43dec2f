"""What options name by their declarations: code to run, packages to install, files to write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from polycmp.command.permissions import GivenOption, code_named, given_options
from polycmp.options import option_fields
from polycmp.options.values import names_script
from polycmp.plan import BackendPlan, plan_backends
from polycmp.plan.flags import build_table
from polycmp.plugins import Registry
from polycmp.spec import opt


@dataclass(frozen=True)
class Options:
    """Options of each kind."""

    script: str = opt("", help="Runs it.", metavar="FILE.py[:NAME]")
    library: tuple[str, ...] = opt((), help="Loads them.", metavar="FILE", executes=True)
    rule: tuple[str, ...] = opt((), help="A word or a script.", metavar="RULE", executes=names_script)
    entries: Mapping[str, str] = opt({}, help="Settings.", metavar="KEY:VALUE", executes=lambda text: ":/" in text)
    trust: bool = opt(False, help="Runs what is in the file.", executes=True)
    package: str = opt("", help="Installs it.", installs=lambda text: text != "none")
    out: str = opt("", help="Writes it.", metavar="FILE", writes=True)
    cache: str = opt("", help="Reads and writes it.", metavar="FILE", writes=True, resumes="cache")
    read: str = opt("", help="Reads it.", metavar="FILE")


FIELDS = {field.name: field for field in option_fields(Options)}


def named(registry, **values):
    """Return what is named as code by values of the options."""
    given = [GivenOption(name, FIELDS[name], value) for name, value in values.items()]
    return [*code_named(given, [], [], registry)]


@pytest.fixture
def registry(toybox):
    return Registry.discover({})


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"script": "a.py:f"}, ["a.py:f"]),
        ({"script": ""}, []),
        ({"library": ("a.bin", "b")}, ["a.bin", "b"]),
        ({"rule": ("ones", "x=a.PY:f", "b.so")}, ["x=a.PY:f", "b.so"]),
        ({"entries": {"a": "1", "b": "/etc/x"}}, ["b:/etc/x"]),
        ({"trust": True}, ["true"]),
        ({"trust": False}, []),
        ({"package": "none"}, []),
        ({"package": "evil==1.0"}, ["evil==1.0"]),
        ({"package": "numpy @ file:///tmp/x"}, ["numpy @ file:///tmp/x"]),
        ({"out": "a", "cache": "b", "read": "c"}, []),
    ],
)
def test_options_name_what_their_declarations_say(registry, values, code):
    assert [text for _, text in named(registry, **values)] == code


def test_only_what_is_declared_is_written_and_a_cache_is(registry):
    given = [GivenOption(name, FIELDS[name], f"{name}.x") for name in ("out", "cache", "read")]
    assert [path for option in given for path in option.written] == ["out.x", "cache.x"]
    assert (FIELDS["cache"].is_cache, FIELDS["out"].is_cache) == (True, False)


@pytest.mark.parametrize(
    ("plan", "name"),
    [
        (BackendPlan("b", "toy", None, python="/tmp/python"), "-b b: python"),
        (BackendPlan("b", "toy", None, version="1.0,evil==1"), "-b b: version"),
        (BackendPlan("b", "toy", None, version="[1.0,numpy @ file:x]"), "-b b: version"),
        (BackendPlan("b", "other", None, texts={"key": "value"}), "-b b: key"),
    ],
)
def test_another_environment_is_code(registry, plan, name):
    assert [what for what, _ in code_named([], [], [plan], registry)] == [name]


@pytest.mark.parametrize("version", ["1.20", "latest", "[1.20.1,python==3.10]", "1.0rc1"])
def test_a_release_of_the_runtime_is_none(registry, version):
    assert not [*code_named([], [], [BackendPlan("b", "toy", None, version=version)], registry)]


def test_a_model_that_is_a_script_is_code(registry):
    assert [*code_named([], ["m.toy", "m.py", "m.py:build", "m.pyc"], [], registry)] == [
        ("model", "m.py"), ("model", "m.py:build"), ("model", "m.pyc"),
    ]  # fmt: skip


def test_options_of_commands_and_of_backends_are_found_alike(registry):
    table = build_table(registry)
    backends = plan_backends(["toy:threads=2"], {}, registry)
    key = table.by_flag["--config"].key
    given = [*given_options({key: "run.toml"}, table, backends)]
    assert [option.name for option in given] == ["config", "-b toy:threads=2: threads"]
    assert [*code_named(given, [], backends, registry)] == [("config", "run.toml")]
