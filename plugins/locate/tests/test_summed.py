"""What steps add up to."""

from __future__ import annotations

import math

import pytest

from polycmp.precision import UNITS
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.report.summed import worst_steps
from polycmp_locate.values.judged import Judged, Probe
from polycmp_locate.values.located import Located
from polycmp_locate.values.measured import Row


@pytest.mark.parametrize(("error", "told"), [(2.0**-6, False), (math.nextafter(2.0**-6, 1.0), True)])
def test_what_steps_add_up_to_is_told_from_a_64th_on(error, told):
    steps = Row("t", PartNode("Mul", "t", unit=UNITS["int8"], coarsest="int8", quantised=True), "float32[4]", unit=1.0)
    probe = Probe(error=error, probed_error=error, trusted=True, sentence="")
    assert bool(worst_steps(Located("mine", "other", Judged(rows=(steps,), probe=probe, is_probed=True)))) is told
