"""`--check-average`: verdicts on the means of metrics over the iterations, on the toy box."""

from __future__ import annotations

import pytest
from toymodels import small

BACKENDS = ("-b", "toy:name=bad,fault=add,at=y,amount=0.5", "-b", "plain")


@pytest.fixture
def model(tmp_path):
    return small(tmp_path / "m.toy")


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
