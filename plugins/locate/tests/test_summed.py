"""What steps add up to."""

from __future__ import annotations

import math

import pytest

from polycmp.precision import UNITS
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.report.summed import worst_steps
from polycmp_locate.rounding.quantised import StepError
from polycmp_locate.values.judged import Judged, Probe
from polycmp_locate.values.located import Located
from polycmp_locate.values.measured import Row, Standalone


@pytest.mark.parametrize(("error", "told"), [(2.0**-6, False), (math.nextafter(2.0**-6, 1.0), True)])
def test_what_steps_add_up_to_is_told_from_a_64th_on(error, told):
    steps = Row("t", PartNode("Mul", "t", unit=UNITS["int8"], coarsest="int8", quantised=True), "float32[4]", unit=1.0)
    probe = Probe(error=error, probed_error=error, trusted=True, sentence="")
    assert bool(worst_steps(Located("mine", "other", Judged(rows=(steps,), probe=probe, is_probed=True)))) is told


@pytest.mark.parametrize(("at_ends", "told"), [(1.0, True), (0.0, False)])
def test_tensors_whose_ranges_are_too_small_are_counted(at_ends, told):
    off = StepError(1.0, 0.01, 0.01, 0.2, -1.0, 1.0, at_ends=at_ends)
    node = PartNode("Mul", "t", unit=UNITS["int8"], coarsest="int8", quantised=True)
    row = Row("t", node, "float32[4]", unit=1.0, standalone=Standalone(0.2, 0.2, passed=False, steps=off))
    probe = Probe(error=0.5, probed_error=0.5, trusted=True, sentence="")
    judged = Judged(rows=(row,), harmless=(row,), probe=probe, is_probed=True)
    said = worst_steps(Located("mine", "other", judged))
    assert ("but for 1 whose ranges leave out numbers of these inputs" in said) is told
