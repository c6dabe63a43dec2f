"""A plan written down and read back is the same plan: as words, through a shell, as JSON, as TOML."""

from __future__ import annotations

import enum
import json
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest
import tomli_w
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from in_parts import PARTS, in_parts
from plans import CHARS, NASTY, plan_of_words, plans_of

from polycmp.errors import PluginError, UsageError
from polycmp.options import option_fields
from polycmp.options.values import join_pair, spell, split_list, split_name, split_pair, unquote
from polycmp.plan import BackendPlan, Plan
from polycmp.plan.backends import instance_texts
from polycmp.plan.text import from_values, to_command, to_values, to_words
from polycmp.plugins import Registry
from polycmp.spec import opt

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REGISTRY = Registry.discover()
some, many = (settings(max_examples=count, suppress_health_check=list(HealthCheck)) for count in (20, 1000))


def words_make_the_plan(plan):
    try:
        made = plan_of_words(to_words(plan, REGISTRY))
    except UsageError as error:
        assume("would overwrite" not in error.what)  # two random paths that meet are wrong usage
        raise
    assert made == plan


def plain_values_make_the_plan(plan):
    values = to_values(plan, REGISTRY)
    assert from_values(values, REGISTRY) == plan
    assert from_values(json.loads(json.dumps(values)), REGISTRY) == plan
    assert from_values(tomllib.loads(tomli_w.dumps(values)), REGISTRY) == plan


@some
@given(plans_of(REGISTRY))
def test_the_words_of_a_plan_make_that_plan(plan):
    words_make_the_plan(plan)


@some
@given(plans_of(REGISTRY))
def test_plain_values_make_that_plan_through_json_and_toml(plan):
    plain_values_make_the_plan(plan)


@pytest.mark.corpus
@many
@given(plans_of(REGISTRY))
def test_a_thousand_plans_come_back_from_words_and_plain_values(plan):
    words_make_the_plan(plan)
    plain_values_make_the_plan(plan)


def test_a_shell_gives_the_program_these_very_words():
    backends = tuple(BackendPlan(label, "onnxrt") for label in NASTY)
    plan = Plan("m.onnx", backends=tuple(_with_options(item) for item in backends))
    program = "polycmp() { python3 -c 'import json, sys; print(json.dumps(sys.argv[1:]))' \"$@\"; }\n"
    done = subprocess.run(
        ["bash", "-c", program + to_command(plan, REGISTRY)], capture_output=True, text=True, check=True
    )
    words = json.loads(done.stdout)
    assert words == to_words(plan, REGISTRY)
    assert plan_of_words(words).backends == plan.backends


def _with_options(backend):
    return replace(backend, options=REGISTRY.find_runner(backend.backend).spec.options())


def test_what_is_typed_is_written_as_it_was_typed():
    line = "run m.onnx -b onnxrt:threads=1 -b onnx:dtype=float64 -b onnx --warm-up 2 --iterations 3 --atol y:0.1 0.2"
    assert shlex.join(to_words(plan_of_words(line.split()), REGISTRY)) == line


def test_what_backends_share_is_written_for_each_and_labels_stay():
    plan = plan_of_words(["run", "m.onnx", "--onnxrt", "-b", "onnxrt:name=b", "--onnxrt", "--onnxrt-threads", "1"])
    assert [item.label for item in plan.backends] == ["onnxrt", "b", "onnxrt#2"]
    words = to_words(plan, REGISTRY)
    assert words[3::2] == ["onnxrt:threads=1,name=onnxrt", "onnxrt:threads=1,name=b", "onnxrt:threads=1,name=onnxrt#2"]
    assert plan_of_words(words) == plan


def test_old_spellings_are_written_as_the_new_ones():
    old = "run m.onnx --onnx --inputs x:[1] --rel-tol 1e-3 --l2-tolerance 1 --compare-func l2 simple --stress-seed 4"
    plan = plan_of_words([*old.split(), "--data-loader", "stress"])
    words = to_words(plan, REGISTRY)
    assert {"--input-shapes", "--rtol", "--l2-threshold", "--compare", "--stress-seeds"} <= set(words)
    assert plan_of_words(words) == plan


def test_values_have_the_types_of_their_fields():
    line = "run m.onnx -b onnxrt:threads=2 -b onnx --iterations 3 --atol 1e-3 --rtol y:1e-4 --validate --max-memory 1K"
    values = to_values(plan_of_words([*line.split(), "--val-range", "x:[0,1]"]), REGISTRY)
    assert values == {
        "model": "m.onnx",
        "backend": [{"backend": "onnxrt", "name": "onnxrt:threads=2", "options": {"threads": 2}}, "onnx"],
        "max-memory": 1024,
        "validate": True,
        "val-range": {"x": [0.0, 1.0]},
        "iterations": 3,
        "rtol": {"y": 1e-4},
        "atol": 1e-3,
    }


@pytest.mark.parametrize("flag", ["--scale-atol", "--infinities-compare-equal", "--validate", "--trt-use-dla"])
def test_every_switch_can_be_turned_off(flag):
    line = ["run", "m.onnx", "-b", "onnx", "-b", "trt", "--data-loader", "stress"]
    off = plan_of_words([*line, flag, flag.replace("--", "--no-", 1)])
    assert off != plan_of_words([*line, flag])
    assert plan_of_words(to_words(off, REGISTRY)) == off


nasty = st.one_of(st.sampled_from(NASTY), st.text(CHARS))


@in_parts
@settings(max_examples=500 // PARTS)
@given(nasty, nasty, st.booleans())
def test_a_spelling_means_what_it_spells(part, value, name, inline):
    assert unquote(spell(value, inline=inline)) == value
    found, rest = split_name(spell(value, name, named=True, inline=inline))
    assert (found, unquote(rest)) == (name, value)
    if inline:
        texts = [spell(value, inline=True), spell(value, name, named=True, inline=True)]
        assert [item.strip() for item in split_list(", ".join(texts))] == texts
    assert split_pair(join_pair(name, value)) == (name, value)


class Level(enum.Enum):
    LOW = "low"
    HIGH = "high"


@dataclass(frozen=True)
class Odd:
    """Options of every annotation that `opt()` allows, and values that are no text."""

    flag: bool | None = opt(None, help="A switch.")
    whole: int | None = opt(None, help="A number.")
    wholes: tuple[int, ...] = opt((), help="Numbers.")
    truths: tuple[bool, ...] = opt((), help="Truth values.")
    groups: tuple[tuple[float, ...], ...] = opt((), help="Groups.")
    names: Mapping[str, bool] = opt({}, help="By name.")
    more: Mapping[str, tuple[int, ...]] = opt({}, help="Several by name.")
    level: Level | None = opt(None, help="A level.", parse=Level, format=lambda level: level.value)  # noqa: RUF009 - as plugins write them
    levels: tuple[Level, ...] = opt((), help="Levels.", parse=Level, format=lambda level: level.value)
    mute: Level | None = opt(None, help="Says nothing of its text.", parse=Level)  # noqa: RUF009 - as plugins write them


FIELDS = {field.name: field for field in option_fields(Odd)}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("flag", False), ("flag", True), ("whole", -3), ("wholes", (-1, 2)), ("truths", (True, False)),
        ("groups", ((1.5,), (float("inf"), -2.0))), ("names", {"": True, "a:b,c": False}),
        ("more", {"y": (1, 2), "": (3,), "[z": (4,)}), ("level", Level.HIGH), ("levels", (Level.HIGH, Level.LOW)),
    ],
)  # fmt: skip
def test_every_annotation_has_a_text_and_a_plain_value(name, value):
    field = FIELDS[name]
    assert field.convert(field.texts(value)) == value
    assert field.convert(instance_texts(field.inline(value))) == value
    assert field.from_plain(json.loads(json.dumps(field.plain(value)))) == value


def test_a_value_without_a_text_says_what_its_plugin_lacks():
    for write in (FIELDS["mute"].texts, FIELDS["mute"].inline, FIELDS["mute"].plain):
        with pytest.raises(PluginError, match="format="):
            write(Level.HIGH)


@pytest.mark.parametrize("version", ["1.20.1", "[1.20.1,onnx==1.16.0,python==3.10]"])
def test_releases_in_brackets_need_no_quotes_inside_those_of_the_shell(version):
    plan = plan_of_words(["run", "model.onnx", "-b", f"onnxrt:version={version}", "-b", "onnx"])
    assert plan.backends[0].version == version
    words_make_the_plan(plan)
    assert f"onnxrt:version={version}" in to_words(plan, REGISTRY)
