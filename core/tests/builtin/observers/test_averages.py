"""`--check-average`: verdicts on the means of metrics over the iterations, on the toy box."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polycmp.builtin.api.compare_functions import CompareFunc
from polycmp.builtin.observers.averages import Means, recorded_metrics
from polycmp.errors import ComparisonError

BACKENDS = ("-b", "toy:name=bad,fault=add,at=y,amount=0.5", "-b", "plain")

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(("atol", "status"), [("0.9e-4", 0), ("0.5e-4", 1)])
def test_what_goes_wrong_in_some_iterations_counts_by_its_share(polycmp, model, atol, status):
    bad = ("-b", "toy:name=bad,fault=add,at=y,amount=1e-4,after=2", "-b", "plain", "--iterations", "8", "--rtol", "0")
    assert (
        polycmp("run", "m.toy", *bad, "--check-average", "--check-error-stat", "max", "--atol", atol).status == status
    )


def test_means_are_judged_by_a_plugins_function(polycmp, model):
    words = ("run", "m.toy", *BACKENDS, "--iterations", "2", "--compare", "gap", "--check-average", "--gap-allowed")
    assert polycmp(*words, "0.6", "--allow-blind").status == 0
    assert polycmp(*words, "0.6").status == 3
    done = polycmp(*words, "0.4")
    assert (done.status, "mean over 2 iterations" in done.words) == (1, True)


def test_options_without_a_mean_are_refused_with_the_way_out(polycmp, model):
    done = polycmp("run", "m.toy", *BACKENDS, "--compare", "gap", "--check-average", "--gap-sort", "last")
    assert (done.status, "no mean of sort last" in done.err, "--gap-sort largest" in done.err) == (2, True, True)


def test_a_function_that_does_not_say_it_judges_metrics_is_refused(polycmp, model):
    done = polycmp("run", "m.toy", *BACKENDS, "--compare", "signs", "--check-average")
    assert (done.status, "its metrics cannot be averaged" in done.err) == (2, True)


@pytest.mark.parametrize("statistic", ["max", "mean"])
def test_as_many_nan_at_other_places_differ(statistic):
    compare = CompareFunc.simple(statistic, nan="equal")
    verdict = compare(np.array([NAN, 0, 0, 0]), np.array([0, NAN, 0, 0]))
    assert not verdict
    assert not compare.judge_metrics(recorded_metrics(verdict))


@pytest.mark.parametrize("statistic", ["max", "mean"])
def test_nan_born_in_one_iteration_and_lost_in_another_differ(statistic):
    compare = CompareFunc.simple(statistic, nan="equal")
    born, plain = np.array([NAN, 1.0]), np.array([1.0, 1.0])
    means = Means()
    for a, b in ((born, plain), (plain, born)):
        means.add(recorded_metrics(compare(a, b)))
    assert not compare.judge_metrics(means.result())


def test_nan_at_the_same_places_is_equal_when_asked():
    a = np.array([NAN, 1.0, 2.0])
    found = recorded_metrics(CompareFunc.simple()(a, a))
    assert not CompareFunc.simple().judge_metrics(found)
    for statistic in ("elemwise", "max", "mean"):
        assert CompareFunc.simple(statistic, nan="equal").judge_metrics(found)


def test_figures_that_do_not_tell_the_places_of_nan_cannot_be_judged_so():
    old = {"max_abs": 0.0, "max_rel": 0.0, "nan_candidate": 1.0, "nan_reference": 1.0}
    with pytest.raises(ComparisonError, match="cannot be judged with these options") as caught:
        CompareFunc.simple("max", nan="equal").judge_metrics(old, output="y")
    assert "same places" in caught.value.why
    assert not CompareFunc.simple("max", nan="equal").judge_metrics({**old, "nan_reference": 2.0})


def test_a_median_that_took_nan_for_infinite_cannot_be_judged_so():
    a, b = np.array([NAN, NAN, 1.0]), np.array([NAN, NAN, 1.5])
    found = recorded_metrics(CompareFunc.simple("median")(a, b))
    with pytest.raises(ComparisonError, match="cannot be judged with these options"):
        CompareFunc.simple("median", nan="equal").judge_metrics(found, output="y")


def test_infinities_that_were_equal_differ_again():
    a = np.array([INF, 1.0])
    found = recorded_metrics(CompareFunc.simple(infinities_compare_equal=True)(a, a))
    assert CompareFunc.simple(infinities_compare_equal=True).judge_metrics(found)
    for statistic in ("elemwise", "max", "mean"):
        assert not CompareFunc.simple(statistic).judge_metrics(found)
