"""The runner under the name of `polygraphy.backend.onnxrt`."""

from __future__ import annotations

from polycmp_onnxrt import OnnxrtRunner as OnnxrtRunner
