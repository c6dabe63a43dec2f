"""What this machine's processor does, of what matters for rounding and saturation."""

from __future__ import annotations

import platform
from pathlib import Path

#: What decides how a processor multiplies whole numbers and half-precision ones.
_FLAGS = ("avx2", "fma", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_int8", "asimddp", "i8mm")


def cpu_flags() -> tuple[str, ...]:
    """Return what the processor can do; empty where nobody says."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ()
    words = set(text.split())
    return tuple(flag for flag in _FLAGS if flag in words)


def saturates() -> bool:
    """Return whether products of whole numbers are added up in 16 bits: x86 without instructions for dot products.

    ONNX Runtime's documentation, "Quantize ONNX models", calls this the saturation of U8S8 on AVX2 and AVX512.
    """
    return platform.machine() in {"x86_64", "AMD64"} and not {"avx512_vnni", "avx_vnni"} & set(cpu_flags())


def fuses_experts() -> bool:
    """Return whether ONNX Runtime has MoE and QMoE for processors as the reference has them.

    Release 1.23 was the first with them; before 1.31 they weighted experts otherwise.
    """
    return _onnxruntime() >= (1, 31)


def folds_padding() -> bool:
    """Return whether ONNX Runtime folds padding with zeros into a pooling that pads otherwise: before release 1.32."""
    return _onnxruntime() < (1, 32)


def recurs_in_both_directions() -> bool:
    """Return whether the reference of the package `onnx` has LSTM and GRU in both directions: from release 1.23 on."""
    from onnx import __version__

    return tuple(map(int, __version__.split(".")[:2])) >= (1, 23)


def _onnxruntime() -> tuple[int, ...]:
    from onnxruntime import __version__

    return tuple(map(int, __version__.split(".")[:2]))
