"""The runner under the name of `polygraphy.backend.onnxrt`."""

from __future__ import annotations

from polycmp_onnxrt import OnnxrtRunner as _OnnxrtRunner
from polycmp_polygraphy.backend.base.runner import TypedRunner


class OnnxrtRunner(_OnnxrtRunner, TypedRunner):
    """Runs a model in ONNX Runtime."""

    default_name = "onnxrt-runner"
