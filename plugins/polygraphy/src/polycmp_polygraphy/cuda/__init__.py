"""Streams and device memory under the names of `polygraphy.cuda`."""

from __future__ import annotations

from polycmp_polygraphy.cuda.cuda import *
