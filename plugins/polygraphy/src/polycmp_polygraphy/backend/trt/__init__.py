"""TensorRT under the names of `polygraphy.backend.trt`."""

from __future__ import annotations

from polycmp_polygraphy.backend.trt.algorithm_selector import *
from polycmp_polygraphy.backend.trt.calibrator import *
from polycmp_polygraphy.backend.trt.config import *
from polycmp_polygraphy.backend.trt.loader import *
from polycmp_polygraphy.backend.trt.profile import *
from polycmp_polygraphy.backend.trt.runner import *
from polycmp_trt import get_trt_logger as get_trt_logger
