"""The loader of sessions under the names of `polygraphy.backend.onnxrt`."""

from __future__ import annotations

from polycmp_onnxrt import SessionFromOnnx as SessionFromOnnx
from polycmp_onnxrt import session_from_onnx as session_from_onnx
