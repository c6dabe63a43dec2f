"""A plan written down and read back is the same plan: as words, through a shell, as JSON, as TOML."""

from __future__ import annotations

import json
import shlex
import sys

import tomli_w
from hypothesis import HealthCheck, given, settings
from plans import plan_of_words, plans_of

from polycmp.cli.run import run_command
from polycmp.plan.text import from_values, to_command, to_values, to_words

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REGISTRY = run_command.registry
many = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@many
@given(plans_of(REGISTRY))
def test_the_words_of_a_plan_make_that_plan(plan):
    assert plan_of_words(to_words(plan, REGISTRY)) == plan


@many
@given(plans_of(REGISTRY))
def test_the_command_survives_a_shell_s_rules(plan):
    assert shlex.split(to_command(plan, REGISTRY)) == ["polycmp", *to_words(plan, REGISTRY)]


@many
@given(plans_of(REGISTRY))
def test_plain_values_make_that_plan_through_json_and_toml(plan):
    values = to_values(plan, REGISTRY)
    assert from_values(values, REGISTRY) == plan
    assert from_values(json.loads(json.dumps(values)), REGISTRY) == plan
    assert from_values(tomllib.loads(tomli_w.dumps(values)), REGISTRY) == plan
