"""Optimization profiles under the names of `polygraphy.backend.trt`."""

from __future__ import annotations

from polycmp_trt import Profile as Profile
from polycmp_trt import ShapeTuple as ShapeTuple
