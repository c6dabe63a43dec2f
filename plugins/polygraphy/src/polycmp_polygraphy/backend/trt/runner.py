"""The runner under the names of `polygraphy.backend.trt`."""

from __future__ import annotations

from polycmp_polygraphy.backend.base.runner import LabelledRunner
from polycmp_trt import TrtRunner as _TrtRunner


class TrtRunner(LabelledRunner, _TrtRunner):
    """Runs a model in TensorRT."""

    label = "trt-runner"
