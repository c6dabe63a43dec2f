"""What two files hold, as evidence on a difference: which of them is judged, and what counts."""

from __future__ import annotations

import pytest
from toygraphs import PLAIN, QUANTISED

from polycmp.builtin.judging.network import different_networks, network_of
from polycmp.errors import ModelError
from polycmp.runs import NetworkDifferences

SAME = NetworkDifferences((), (), (), False, 2, 2, is_same=True)
PART = NetworkDifferences((), (), (), False, 1, 2)
OTHER = NetworkDifferences(("w is another",), (), (), False, 2, 2)


@pytest.mark.parametrize(
    ("differences", "is_one_backend", "network", "words"),
    [
        (SAME, True, "same", "2"),
        (SAME, False, "", ""),  # no evidence on what two backends make of one network
        (PART, True, "", ""),
        (OTHER, True, "other", "w is another"),
        (OTHER, False, "other", "w is another"),
        (None, True, "", ""),
    ],
)
def test_what_files_hold_is_evidence(differences, is_one_backend, network, words):
    found = network_of(PLAIN, PLAIN, compare=lambda new, old: differences, is_one_backend=is_one_backend)
    assert (found[0], words in found[1]) == (network, True)
    assert bool(found[1]) == bool(network)


@pytest.mark.parametrize("graphs", [(PLAIN, QUANTISED), (QUANTISED, PLAIN)])
def test_a_file_of_codes_is_judged_by_one_without_in_either_order(graphs):
    pairs = []
    network_of(*graphs, compare=lambda *pair: pairs.append(pair), is_one_backend=True)
    assert pairs == [(QUANTISED, PLAIN)]


def test_files_that_cannot_be_compared_are_no_evidence():
    def compare(new, old):
        raise ModelError("its operators calculate with what nobody knows")

    assert network_of(PLAIN, PLAIN, compare=compare, is_one_backend=True) == ("", "")


@pytest.mark.parametrize(
    ("faults", "words"),
    [(["other weights"], "other weights"), (["other weights", "b", "c"], "other weights, and 2 more differences")],
)
def test_what_differs_in_two_files_is_told_and_the_rest_is_counted(faults, words):
    assert different_networks(faults) == f"the files hold different networks: {words}"
