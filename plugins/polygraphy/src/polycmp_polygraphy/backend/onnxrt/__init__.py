"""ONNX Runtime under the names of `polygraphy.backend.onnxrt`."""

from __future__ import annotations

from polycmp_polygraphy.backend.onnxrt.loader import *
from polycmp_polygraphy.backend.onnxrt.runner import *
