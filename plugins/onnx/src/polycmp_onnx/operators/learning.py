"""Operators of the domain ai.onnx.ml that ONNX's reference evaluator lacks."""

from __future__ import annotations

from typing import Any

from onnx.reference.op_run import OpRun

DOMAIN = "ai.onnx.ml"


class ZipMap(OpRun):  # type: ignore[misc]
    """ZipMap: rows of scores as mappings from a class to its score."""

    def _run(self, x: Any, *, classlabels_int64s: Any = None, classlabels_strings: Any = None) -> tuple[Any]:
        labels = classlabels_strings or classlabels_int64s or ()
        rows = x[None] if x.ndim == 1 else x
        if rows.ndim != 2 or rows.shape[1] != len(labels):
            raise ValueError(f"its input has shape {list(x.shape)}, and there are {len(labels)} classes")
        return ([dict(zip(labels, row, strict=True)) for row in rows],)


OPERATORS: dict[str, type[Any]] = {"ZipMap": ZipMap}
