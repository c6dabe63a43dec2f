"""The runner under the names of `polygraphy.backend.trt`."""

from __future__ import annotations

from polycmp_trt import TrtRunner as TrtRunner
