"""The JSON Schema of run files: it accepts those that polycmp writes, and marks a mistake where it stands."""

from __future__ import annotations

import pytest
from in_process import plugins_installed

from polycmp._toml import parse_toml
from polycmp.plan import Plan, plan_backends, run_file_schema, to_values

jsonschema = pytest.importorskip("jsonschema", reason="it comes with check-jsonschema, of the group dev")

RUN = 'model = "m.toy"\nbackend = [{ backend = "toy", options = { threads = 1 } }, "plain"]\niterations = 3\n'


@pytest.fixture
def wrong_in(toybox):
    """Return what the schema has against the values of a run file."""
    registry = plugins_installed()
    command = registry.find_command("run")
    schema = run_file_schema(registry.load(command, command.spec.target).table_of(registry), registry)
    jsonschema.Draft7Validator.check_schema(schema)

    def told(values):
        errors = jsonschema.Draft7Validator(schema).iter_errors(values)
        return [f"{error.json_path}: {error.message}" for error in errors]

    return told


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("iterations", "iteratons", "iteratons"),
        ("iterations = 3", 'iterations = "many"', "$.iterations"),
        ("iterations = 3", 'config = "other.toml"', "config"),
        ("threads", "treads", "treads"),
        ("iterations = 3", "atol = { y = [] }\ninfinities-compare-equal = 7", "$['infinities-compare-equal']"),
    ],
)
def test_a_mistake_is_refused_where_it_stands(wrong_in, before, after, said):
    assert wrong_in(parse_toml(RUN)) == []
    assert any(said in told for told in wrong_in(parse_toml(RUN.replace(before, after))))


@pytest.mark.parametrize("spec", ["toy:threads=2,fault=add,at=y", "toy:name=there,python=/usr/bin/python3", "packs"])
def test_what_is_written_is_accepted(wrong_in, spec):
    registry = plugins_installed()
    plan = Plan(model="m.toy", backends=plan_backends([spec, "plain"], {}, registry))
    assert wrong_in(to_values(plan, registry)) == []
