"""From which numbers on a coarser type is an exception."""

from __future__ import annotations

import math

import pytest
from located_rows import part

from polycmp.precision import UNITS
from polycmp_locate.causes.narrowed import lone_narrowing


@pytest.mark.parametrize(("parts", "coarse", "told"), [(10, 1, True), (10, 2, False), (20, 2, True), (20, 3, False)])
def test_a_type_is_an_exception_in_a_tenth_of_the_parts(parts, coarse, told):
    rows = [part(unit="float16") for _ in range(coarse)] + [part() for _ in range(parts - coarse)]
    assert (lone_narrowing(rows) is not None) is told


@pytest.mark.parametrize(("units", "told"), [(math.nextafter(4.0, 0.0), False), (4.0, True)])
def test_a_type_is_coarser_from_two_bits_on(units, told):
    rows = [part(node={"unit": units * UNITS["float32"]}), *[part() for _ in range(9)]]
    assert (lone_narrowing(rows) is not None) is told
