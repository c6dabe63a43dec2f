"""Precisions without switches: where TensorRT lost its builder flags, the model itself gets the types.

Up to TensorRT 10 `fp16`, `bf16` and `int8` are flags of the builder. TensorRT 11 takes every network as it is typed:
there the ONNX model is converted to float16 or bfloat16, or quantised with Q/DQ nodes, before it is parsed.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polycmp.errors import BackendError, PluginError
from polycmp.loader import Loader, immediate, resolve
from polycmp_trt.features import has, release, require, supports

if TYPE_CHECKING:
    import tensorrt as trt

    from polycmp_trt.types import EngineSource

__all__ = ["PrecisionPlan", "ReportPrecision", "plan_precision", "report_precision"]

_LOG = logging.getLogger("polycmp.trt")


@dataclass(frozen=True)
class PrecisionPlan:
    """Means of obtaining the requested precisions on this release.

    Attributes:
        flags: Those that are flags of the builder.
        conversions: Those that the model must be converted to, in this order.
        strongly_typed: Whether the network keeps the model's types.
    """

    flags: tuple[str, ...] = ()
    conversions: tuple[str, ...] = ()
    strongly_typed: bool = False


def plan_precision(wanted: tuple[str, ...], strongly_typed: bool, from_onnx: bool) -> PrecisionPlan:
    """Decide for each precision whether it is a flag of the builder or a conversion of the model.

    TensorRT is imported only if a precision is asked for.

    Args:
        wanted: Some of `tf32`, `fp16`, `bf16`, `fp8`, `int8`.
        strongly_typed: Whether the model's own types are kept.
        from_onnx: Whether the network comes from an ONNX model, which can be converted.

    Raises:
        BackendError: This release cannot do one of them; the text says what to do instead.
    """
    flags = tuple(name for name in wanted if _has_flag(name))
    missing = tuple(name for name in wanted if name not in flags)
    if strongly_typed and {"fp16", "bf16", "int8", "fp8"}.intersection(flags):
        name = next(name for name in flags if name != "tf32")
        raise BackendError(
            f"a strongly typed network cannot be built with --trt-{name}",
            whose="trt",
            why="strongly typed means that the model's own types count",
            hint="leave one of the two out, or convert the model first: polycmp convert --fp-to-fp16",
        )
    if not missing:
        return PrecisionPlan(flags, strongly_typed=strongly_typed)
    for name in missing:
        _require_convertible(name, from_onnx)
    if {"fp16", "bf16"} <= set(missing):
        raise BackendError(
            f"TensorRT {release()} takes one type per tensor, so fp16 and bf16 exclude each other",
            whose="trt",
            hint="run the two as two backends: -b trt:fp16 -b trt:bf16",
        )
    if "int8" in missing and len(missing) > 1:
        _LOG.warning(
            "TensorRT %s builds what the model says: int8 by Q/DQ nodes, everything else stays float32; %s is left out",
            release(),
            " and ".join(name for name in missing if name != "int8"),
        )
        missing = ("int8",)
    return PrecisionPlan(flags, missing, strongly_typed=supports("strongly_typed"))


def _has_flag(name: str) -> bool:
    try:
        return supports(name)
    except PluginError:  # TensorRT is not there; activating the runner raises this error
        return True


def _require_convertible(name: str, from_onnx: bool) -> None:
    convertible = name in {"fp16", "bf16", "int8"} and supports("strongly_typed")
    if name == "bf16":
        convertible = convertible and has("DataType.BF16")
    if not convertible:
        if name == "bf16":
            raise BackendError(
                f"TensorRT {release()} cannot do --trt-bf16",
                whose="trt",
                why="this release has no bfloat16",
                hint="take --trt-fp16, or install a newer TensorRT",
            )
        require(name, f"--trt-{name}")
    if not from_onnx:
        raise BackendError(
            f"TensorRT {release()} cannot do --trt-{name} for a network script",
            whose="trt",
            why="this release builds each network with the types it has",
            hint="give the tensors their types in the script, or start from an ONNX model",
        )


class ReportPrecision(Loader["trt.ICudaEngine"]):
    """Warns if an engine has no layer of a precision that was asked for, and passes the engine on.

    Args:
        engine: The engine, or a callable that makes it.
        wanted: Some of `fp16`, `bf16`, `int8`.
    """

    def __init__(self, engine: EngineSource, wanted: tuple[str, ...]) -> None:
        self.engine = engine
        self.wanted = wanted

    def call_impl(self) -> trt.ICudaEngine:
        """Return the `tensorrt.ICudaEngine`."""
        from polycmp_trt.build.layers import engine_layers, precisions

        engine = resolve(self.engine)
        counts = precisions(engine_layers(engine))
        for name in self.wanted:
            if counts and name.upper() not in counts:
                _LOG.warning("%s was asked for, but NO LAYER of the engine has it: layers are %s", name, counts)
        return engine


report_precision = immediate(ReportPrecision)
