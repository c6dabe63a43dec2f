"""Loaders of ONNX models under the names of `polygraphy.backend.onnx`."""

from __future__ import annotations

from polycmp_polygraphy.backend.onnx.loader import *
