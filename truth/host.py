"""What this machine's processor does, of what matters for rounding and saturation."""

from __future__ import annotations

from functools import cache
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


@cache
def saturates() -> bool:
    """Return whether ONNX Runtime adds up products of unsigned and signed 8-bit numbers in 16 bits here.

    It does on x86 without instructions for dot products: its documentation, "Quantize ONNX models", calls this the
    saturation of U8S8 on AVX2 and AVX512. It is tried, since flags tell what a processor can do and not what is used.
    """
    import numpy as np
    import onnx
    from onnxruntime import InferenceSession

    kinds = {"x": onnx.TensorProto.UINT8, "w": onnx.TensorProto.INT8, "y": onnx.TensorProto.INT32}
    shapes = {"x": [1, 64], "w": [64, 16], "y": [1, 16]}
    x, w, y = (onnx.helper.make_tensor_value_info(name, kind, shapes[name]) for name, kind in kinds.items())
    graph = onnx.helper.make_graph([onnx.helper.make_node("MatMulInteger", ["x", "w"], ["y"])], "g", [x, w], [y])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    session = InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    made = session.run(None, {"x": np.full((1, 64), 255, np.uint8), "w": np.full((64, 16), 127, np.int8)})[0]
    return bool((made != 64 * 255 * 127).any())


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
