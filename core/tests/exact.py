"""What the compare functions should say, in exact arithmetic: fractions, one element after another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import ml_dtypes
import numpy as np

NAN, INF = math.nan, math.inf
LARGEST = Fraction(float(np.finfo(np.float64).max))


@dataclass(frozen=True)
class Number:
    """A real or complex number; a part that is no finite number is a float."""

    real: Fraction | float
    imag: Fraction | float = Fraction(0)

    @property
    def is_nan(self):
        return self.real != self.real or self.imag != self.imag

    @property
    def is_inf(self):
        return not self.is_nan and (self.real in (INF, -INF) or self.imag in (INF, -INF))

    @property
    def is_finite(self):
        return not (self.is_nan or self.is_inf)


def _part(value):
    value = float(value) if not isinstance(value, (int, np.longdouble)) else value
    if value != value or value in (INF, -INF):
        return float(value)
    return Fraction(*value.as_integer_ratio()) if not isinstance(value, int) else Fraction(value)


def numbers(array):
    """Return an array's elements in C order."""
    if "complex" in array.dtype.name:
        with np.errstate(all="ignore"):
            wide = array.astype(np.complex128).reshape(-1)
        return [Number(_part(x.real), _part(x.imag)) for x in wide.tolist()]
    if "int" in array.dtype.name or array.dtype.kind == "b":
        return [Number(Fraction(int(x))) for x in array.reshape(-1)]
    if array.dtype == np.longdouble:
        return [Number(_part(x)) for x in array.reshape(-1)]
    with np.errstate(all="ignore"):
        return [Number(_part(x)) for x in array.astype(np.float64).reshape(-1).tolist()]


def root(square):
    """Return the square root of a fraction, exact where it is one, else to 200 bits."""
    if not square:
        return square
    shift = 2 * max(0, 400 - square.numerator.bit_length() + square.denominator.bit_length())
    found = math.isqrt((square.numerator << shift) // square.denominator)
    return Fraction(found, 1 << (shift // 2))


def magnitude(number):
    return abs(number.real) if not number.imag else root(number.real**2 + number.imag**2)


def errors_of(a, b, *, equal_nan=False, equal_inf=False):
    """Return absolute and relative error as fractions or infinity; None where NaN makes the element fail."""
    if a.is_nan or b.is_nan:
        return (Fraction(0), Fraction(0)) if equal_nan and a.is_nan and b.is_nan else None
    if a.is_inf or b.is_inf:
        return (Fraction(0), Fraction(0)) if equal_inf and a == b else (INF, INF)
    error = magnitude(Number(a.real - b.real, a.imag - b.imag))
    size = magnitude(b)
    if not error:
        return Fraction(0), Fraction(0)
    return error, error / size if size else INF


def as_float(value):
    """Return a fraction as float64, infinite where it is too large."""
    if isinstance(value, float):
        return value
    return INF if value > LARGEST else float(value)


def near(value, limit):
    """Return whether rounding to float64 may decide if a value exceeds a limit."""
    if isinstance(value, float) or not limit:
        return False
    return value != Fraction(limit) and abs(value / Fraction(limit) - 1) < Fraction(1, 10**12)


def quantile(values, share):
    """Return a quantile, interpolated linearly between the two nearest elements."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    rank = int(place)
    low = ordered[rank]
    fraction = place - rank
    if not fraction or low == ordered[rank + 1]:
        return low
    high = ordered[rank + 1]
    return INF if isinstance(high, float) else low + (high - low) * Fraction(fraction)


def log10(value):
    """Return the decimal logarithm of a positive fraction of any size."""
    return math.log10(value.numerator) - math.log10(value.denominator)


def sum_of_squares(pairs):
    return sum((x.real**2 + x.imag**2 for x in pairs), Fraction(0))


# --- representable numbers


def _format(dtype):
    info = ml_dtypes.finfo(dtype)
    return int(info.nmant), int(info.minexp), Fraction(float(info.max))


def round_to(value, dtype):
    """Return a fraction rounded to the nearest number of a type, ties to even; None where the type is too small."""
    mantissa, smallest, largest = _format(dtype)
    if not value:
        return value
    step = Fraction(2) ** (max(_exponent(value), smallest) - mantissa)
    rounded = round(value / step) * step
    return rounded if abs(rounded) <= largest else None


def _exponent(value):
    """Return the exponent e of 2**e <= |value| < 2**(e + 1)."""
    guess = abs(value.numerator).bit_length() - value.denominator.bit_length()
    return guess if Fraction(2) ** guess <= abs(value) else guess - 1


def rank(value, dtype):
    """Return how many numbers of a type lie between 0 and one of them, with its sign."""
    mantissa, smallest, _ = _format(dtype)
    if not value:
        return 0
    exponent = _exponent(value)
    if exponent < smallest:
        count = abs(value) / Fraction(2) ** (smallest - mantissa)
    else:
        count = (exponent - smallest) * 2**mantissa + abs(value) / Fraction(2) ** (exponent - mantissa)
    assert count.denominator == 1
    return int(count) if value > 0 else -int(count)


def ulps(a, b, one, two):
    """Return the distance of two real numbers in representable numbers of the type with the shorter mantissa."""
    if a.is_nan or b.is_nan:
        return INF
    if a.is_inf or b.is_inf:
        return 0 if a == b else INF
    if "float" not in one.name or "float" not in two.name:
        return abs(a.real - b.real)
    dtype = min((one, two), key=lambda item: ml_dtypes.finfo(item).nmant)
    left, right = (round_to(x.real, dtype) for x in (a, b))
    if left is None or right is None:
        return INF
    return abs(rank(left, dtype) - rank(right, dtype))
