"""Trained files that ship in packages; not part of `make test`, since nothing is downloaded there."""

from __future__ import annotations

from collections.abc import Callable

from truth.build import Net
from truth.models import lowbit, minilm
from truth.scenario import NO_FAULT, NOTHING, Scenario, at, weight

_HERE = minilm.weights_file() is not None
_NEEDS = "packages with trained models (truth/files.txt), for one OpenVINO (truth/runtimes.txt)"
_OPENVINO = minilm.package_file("openvino", "__init__.py") is not None


def _half() -> Net:
    return lowbit.half(minilm.minilm())


def _scenario(name: str, net: Callable[[], Net], **more: object) -> Scenario:
    values = {"fault": NO_FAULT, "expect": NOTHING, "fast": False, "here": _HERE, "needs": _NEEDS, "net": net, **more}
    return Scenario(f"MiniLM{name}", "trained MiniLM", **values)  # type: ignore[arg-type]


_CLEAN = [
    _scenario(" against the reference", minilm.minilm),
    _scenario(" against itself without optimisation", minilm.minilm, reference="onnxrt:optimization=off"),
    _scenario(": float16 asked for", minilm.minilm, candidate="onnx:dtype=float16"),
    _scenario(": bfloat16 asked for", minilm.minilm, candidate="onnx:dtype=bfloat16"),
    _scenario(" converted to float16, against the reference", _half),
    _scenario(" converted to float16, unoptimised", _half, reference="onnxrt:optimization=off"),
    _scenario(" in dynamic int8, against the reference", minilm.minilm_int8),
    _scenario(" in dynamic int8, against float64", minilm.minilm_int8, reference="onnx:dtype=float64"),
    _scenario(" in dynamic int8, unoptimised", minilm.minilm_int8, reference="onnxrt:optimization=off"),
    _scenario(" on OpenVINO", minilm.minilm, candidate="openvino", here=_HERE and _OPENVINO),
]
_PLANTED = [("fp16", "l2.up.matmul"), ("layout", "l4.att.mixed"), ("row-noise", "l0.n1"), ("saturate", "l3.att.out"),
            ("shuffle", "l5.att.p"), ("int32", "l1.gelu")]  # fmt: skip
_FAULTY = [
    _scenario(
        f": {fault} at {operator}", minilm.minilm, fault=fault, expect=at(operator),
        candidate=f"faulty:backend=onnxrt,fault={fault},at={operator}",
    )
    for fault, operator in _PLANTED
]  # fmt: skip
_FAULTY += [
    _scenario(": wrong weight of l3.down.matmul", minilm.minilm, fault="wrong weight", expect=at("l3.down.matmul"),
              reference="good", changes=(weight("l3.down.w", (100, 7), 1.0),)),
    _scenario(" in float16: row-noise at l2.up.matmul", _half, fault="row-noise", expect=at("l2.up.matmul"),
              candidate="faulty:backend=onnxrt,fault=row-noise,at=l2.up.matmul"),
]  # fmt: skip

#: Files as they are: `run` and `locate` without any option have to give an answer, and nothing is wrong with them.
_FILES = {
    "silero-vad": ("silero_vad", "data/silero_vad.onnx"),
    "silero-vad, opset 15": ("silero_vad", "data/silero_vad_16k_op15.onnx"),
    "silero-vad in float16": ("silero_vad", "data/silero_vad_half.onnx"),
    "silero-vad without If": ("silero_vad", "data/silero_vad_op18_ifless.onnx"),
    "silero-vad for sequences": ("silero_vad", "data/silero_vad_16k_sequence.onnx"),
    "magika": ("magika", "models/standard_v3_3/model.onnx"),
    "direction of text": ("rapidocr_onnxruntime", "models/ch_ppocr_mobile_v2.0_cls_infer.onnx"),
    "places of text": ("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx"),
}
#: On a page of text its outputs are saturated sigmoids, which two orders of summation move by 2e-5: rounding, and more
#: than the default tolerance of 1e-5.
_WORDS = {("places of text", "run"): ("--atol", "1e-4")}
_AS_THEY_ARE = [
    Scenario(
        f"{name}: {command} against {words}", "trained file", NO_FAULT, NOTHING, reference=reference, fast=False,
        here=minilm.package_file(*where) is not None, file=minilm.package_file(*where), command=command, needs=_NEEDS,
        words=_WORDS.get((name, command), ()),
    )
    for name, where in _FILES.items()
    for command in ("run", "locate")
    for reference, words in (("onnx", "the reference"), ("onnxrt:optimization=off", "itself without optimisation"))
]  # fmt: skip

SCENARIOS = (*_CLEAN, *_FAULTY, *_AS_THEY_ARE)
