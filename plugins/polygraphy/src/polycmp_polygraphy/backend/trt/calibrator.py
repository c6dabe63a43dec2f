"""The calibrator under the names of `polygraphy.backend.trt`."""

from __future__ import annotations

from polycmp_trt import Calibrator as Calibrator
