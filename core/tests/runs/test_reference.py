"""Which run a name of `--reference` stands for."""

from __future__ import annotations

import pytest

from polycmp.errors import UsageError
from polycmp.plan import BackendPlan
from polycmp.runs import choose_reference

RUNS = [BackendPlan("toy", "plain"), BackendPlan("a", "toy"), BackendPlan("b", "shut"), BackendPlan("c", "shut")]


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("", "c"),
        ("a", "a"),
        ("plain", "toy"),
        ("toy", "toy"),  # a label goes before the name of another run's backend
    ],
)
def test_a_label_or_a_backend_that_runs_once(name, label):
    assert choose_reference(name, RUNS) == label


def test_one_run_alone_has_no_reference():
    assert choose_reference("", RUNS[:1]) == ""


@pytest.mark.parametrize(
    ("name", "what", "hint"),
    [
        ("shut", "'shut' is the backend of 2 runs", "--reference c"),
        ("nobody", "no run is called 'nobody'", "the label"),
    ],
)
def test_other_names_are_refused(name, what, hint):
    with pytest.raises(UsageError, match=what) as caught:
        choose_reference(name, RUNS)
    assert caught.value.why
    assert hint in caught.value.hint
