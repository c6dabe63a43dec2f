"""Whether looking inside changed the result, each border from both sides."""

from __future__ import annotations

import math

import numpy as np
import pytest
from located_rows import above

from polycmp_locate.trials.probe import check_probe


def probed(plain, seen, reference, passes=lambda outputs: False):
    arrays = [{"y": np.asarray([value], np.float64)} for value in (plain, seen, reference)]
    return check_probe(*arrays, passes)


@pytest.mark.parametrize(
    ("seen", "trusted"),
    [
        (1.5, True),
        (1.5 + 0.125, True),
        (above(1.5 + 0.125), False),
        (1.5 - 0.125, True),
        (0.0, False),
        (math.nan, False),
    ],
)
def test_probes_may_move_a_wrong_result_by_a_quarter_of_its_error(seen, trusted):
    found = probed(1.5, seen, 1.0)
    assert found.error == 0.5
    assert found.trusted is trusted


def test_probes_may_not_move_a_result_without_an_error():
    assert not probed(1.0, above(1.0), 1.0).trusted


@pytest.mark.parametrize(
    ("plain_passes", "probed_passes", "trusted", "says"),
    [
        (True, True, True, "too little to change the verdict"),
        (True, False, False, "of another computation"),
        (False, True, False, "the fault is gone when one looks inside"),
        (False, False, False, "of another computation"),
    ],
)
def test_a_result_that_probes_move_by_more(plain_passes, probed_passes, trusted, says):
    found = probed(1.5, 3.0, 1.0, lambda outputs: plain_passes if outputs["y"][0] == 1.5 else probed_passes)
    assert (found.plain_passed, found.probed_passed, found.trusted) == (plain_passes, probed_passes, trusted)
    assert (found.moved, found.relative) == (1.5, 1.5)  # held against the reference, as the error is
    assert says in found.sentence


def test_a_verdict_that_probes_change_is_no_evidence_however_little_they_move():
    found = probed(1.5, 1.5 + 2**-20, 1.0, lambda outputs: outputs["y"][0] == 1.5)
    assert not found.trusted


def test_probes_that_move_nothing_are_said_to():
    found = probed(1.5, 1.5, 1.0)
    assert (found.moved, found.relative, found.sentence) == (
        0.0, 0.0, "probing did not move the candidate's final outputs",
    )  # fmt: skip


def test_outputs_that_were_not_seen_do_not_count_as_moved():
    found = check_probe({"y": np.ones(2), "z": np.ones(2)}, {"y": np.ones(2)}, {"y": np.ones(2)}, lambda _: True)
    assert found.trusted
    assert found.moved == 0.0
