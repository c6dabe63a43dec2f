"""Few tensors that are looked at, where a run is expensive."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from polycmp_locate.sweep.bisect import bisect
from polycmp_locate.sweep.sweep import open_way


def looked_at(setting, feed):
    """Return the window of a bisection, and how often it looked."""
    stages = []
    with open_way(setting, feed) as way:
        swept = bisect(way, stages.append)
        (window,) = swept.windows
    assert not swept.is_whole
    return window, swept, len(stages)


def test_few_tensors_are_looked_at_down_to_the_first_operator_that_is_wrong(setting, feed):
    window, swept, looks = looked_at(setting, feed)
    assert window.chosen == {"h5"}
    assert {"h5", "r4", "y"} <= window.rows.keys()
    assert len(window.rows) <= looks <= 7  # of 24
    assert list(window.rows) == sorted(window.rows, key=lambda name: (name == "y", int(name[1:] or 99), name[0] == "r"))
    assert {"r4", "h5"} <= window.reference.keys() & window.candidate.keys()
    assert not np.allclose(window.reference["h5"], window.candidate["h5"])
    assert swept.unseen == []


def test_outputs_that_agree_are_all_that_is_looked_at(setting, feed):
    window, _, looks = looked_at(replace(setting, candidate=setting.reference), feed)
    assert (list(window.rows), window.chosen, looks) == (["y"], frozenset(), 1)
