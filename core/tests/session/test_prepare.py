"""Whole models or parts of them: what decides, and what is said of it."""

from __future__ import annotations

import pytest
from in_process import plugins_installed
from toymodels import chain, small

from polycmp.errors import UsageError
from polycmp.options import Key, OptionValues
from polycmp.plan.build import make_plan
from polycmp.plan.sections import SECTIONS
from polycmp.runs import resolve
from polycmp.session.prepare import MemoryLimit, has_many_outputs, may_need_pairs, needs_all_outputs, prepare

ANY = MemoryLimit(0, "")
MARKED = {Key("loader", "toy", "mark_all"): True}


@pytest.fixture
def resolved(toybox, tmp_path):
    def of(*backends, values=MARKED, make=chain):
        registry = plugins_installed()
        given = OptionValues(dict(values), SECTIONS, model=str(make(tmp_path / "m.toy")), backends=backends)
        return resolve(make_plan(given, registry), registry)

    return of


def prepared(run, memory=ANY):
    return prepare(run.plan.data, run.plan.compare, run, None, memory)


def test_many_outputs_are_made_part_by_part_and_few_at_once(resolved):
    many, few = resolved("toy", "plain"), resolved("toy", "plain", values={})
    assert has_many_outputs(many.backends)
    assert not has_many_outputs(few.backends)
    assert prepared(many).windows is not None
    assert prepared(few).windows is None
    assert [run.label for run in prepared(few).runs] == ["toy", "plain"]


def test_one_run_is_never_divided(resolved):
    assert prepared(resolved("toy")).windows is None


def test_where_an_option_needs_all_outputs_they_are_held_and_that_is_said(resolved):
    ready = prepared(resolved("toy", "plain"), MemoryLimit(0, "--warm-up"))
    assert ready.windows is None
    assert any("--warm-up" in note for note in ready.notes)


def test_files_that_differ_need_pairs_only_with_options_that_make_more_outputs(resolved, tmp_path):
    small(tmp_path / "other.toy", seed=1)
    other = f"plain:model={tmp_path / 'other.toy'}"
    assert may_need_pairs(resolved("toy", other).backends)
    assert not may_need_pairs(resolved("toy", other, values={}).backends)
    assert not may_need_pairs(resolved("toy", "plain").backends)


@pytest.mark.parametrize(
    ("key", "value", "option"),
    [
        (Key("core", "run", "sequential_runners"), True, "--sequential-runners"),
        (Key("core", "run", "warm_up"), 2, "--warm-up"),
        (Key("core", "run", "use_subprocess"), True, "--use-subprocess"),
        (Key("core", "result", "load_outputs"), ("o.npz",), "--load-outputs"),
        (Key("core", "run", "max_memory"), "1G", ""),
    ],
)
def test_options_that_need_all_outputs_are_named(toybox, key, value, option):
    values = OptionValues({key: value}, SECTIONS, model="m.toy", backends=("toy", "plain"))
    assert needs_all_outputs(make_plan(values, plugins_installed())) == option


def test_outputs_that_a_plan_names_are_checked_before_anything_runs(resolved):
    wrong = resolved("toy", "plain", values={Key("compare_func", "simple", "atol"): {"z": 0.1}})
    with pytest.raises(UsageError, match="'z'"):
        prepared(wrong)
