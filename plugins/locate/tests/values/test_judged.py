"""Operators that are wrong together, and reasons, in words."""

from __future__ import annotations

import pytest

from polycmp.graph import GraphNode
from polycmp.spec import Switch
from polycmp_locate.values.judged import Cure, Fused, Judged, Probe, Reason

SKIP = Switch("skip", values_from="impl:passes")


def nodes(count):
    return tuple(GraphNode("Op", f"n{index}") for index in range(count))


@pytest.mark.parametrize(
    ("count", "labels"),
    [
        (1, "Op 'n0'"),
        (2, "Op 'n0' and Op 'n1'"),
        (5, "Op 'n0', Op 'n1', Op 'n2', Op 'n3' and Op 'n4'"),
        (6, "Op 'n0', Op 'n1', Op 'n2', 2 more and Op 'n5'"),
        (9, "Op 'n0', Op 'n1', Op 'n2', 5 more and Op 'n8'"),
    ],
)
def test_of_many_operators_the_first_and_the_last_are_named(count, labels):
    assert Fused(nodes(count)).labels == labels


@pytest.mark.parametrize(
    ("cure", "hangs_on", "way_round"),
    [
        (None, "", ""),
        (Cure(SKIP, "off", "-b x:skip=off"), "", "; workaround: -b x:skip=off"),
        (Cure(SKIP, ("Casts", "Sums"), ""), " (Casts, Sums)", ""),
        (
            Cure(SKIP, ("Casts",), "-b x:skip=Casts", ("Sums", "Cuts")),
            " (Casts, and right without Sums and Cuts as well)",
            "; workaround: -b x:skip=Casts",
        ),
    ],
)
def test_what_they_hang_on_and_how_to_get_round_it(cure, hangs_on, way_round):
    fused = Fused(nodes(2), cure=cure)
    assert (fused.hangs_on, fused.way_round) == (hangs_on, way_round)


def test_a_reason_that_explains_the_error_is_called_its_cause():
    assert [str(Reason("it saturates")), str(Reason("it may", is_cause=False))] == ["cause: it saturates", "it may"]


@pytest.mark.parametrize(("first_bad", "origin", "accused"), [("y", None, "y"), ("y", "a", "a"), (None, None, None)])
def test_the_origin_is_accused_before_the_first_bad_tensor(first_bad, origin, accused):
    assert Judged(first_bad=first_bad, origin=origin).accused == accused


def test_what_probes_do_is_not_told_where_no_output_was_seen():
    probe = Probe()
    assert (Judged(probe=probe, is_probed=True).seen_probe, Judged(probe=probe).seen_probe) == (probe, None)
