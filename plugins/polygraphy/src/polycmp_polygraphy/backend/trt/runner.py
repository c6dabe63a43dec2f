"""The runner under the names of `polygraphy.backend.trt`."""

from __future__ import annotations

from polycmp_polygraphy.backend.base.runner import TypedRunner
from polycmp_trt import TrtRunner as _TrtRunner


class TrtRunner(_TrtRunner, TypedRunner):
    """Runs a model in TensorRT."""

    default_name = "trt-runner"
