"""Scenarios in which something is wrong, and where it is, is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from truth.host import folds_padding, fuses_experts, saturates
from truth.models import eight_bits, hard, lowbit, sequences
from truth.scenario import (
    BORN,
    FAILS,
    FUSED,
    NO_FAULT,
    NOTHING,
    OTHER,
    SAME,
    UNSTEADY,
    WRONG,
    Expect,
    Scenario,
    at,
    attribute,
    scaled,
    weight,
)

#: Faults of the backend `faulty`: architecture, fault, operator.
_PLANTED = [
    ("encoder", "fp16", "l0.up.matmul"), ("encoder", "saturate", "l1.att.out"), ("encoder", "layout", "l0.att.joined"),
    ("encoder", "shuffle", "l1.n1"), ("encoder", "row-noise", "l0.n1"), ("encoder", "int32", "l1.gelu"),
    ("decoder", "fp16", "l0.qk"), ("decoder", "layout", "l1.mixed"), ("decoder", "row-noise", "final"),
    ("decoder", "shuffle", "l0.q.turn.cos"), ("decoder", "saturate", "l1.silu"), ("decoder", "int32", "l0.gated"),
    ("vision transformer", "layout", "tokens"), ("vision transformer", "fp16", "patch"),
    ("vision transformer", "row-noise", "final"), ("vision transformer", "saturate", "l0.sum1"),
    ("mixture of experts", "shuffle", "shares"), ("mixture of experts", "int32", "e1.relu"),
    ("mixture of experts", "row-noise", "shares"), ("mixture of experts", "layout", "stacked"),
    ("residual", "fp16", "s1.c1"), ("residual", "saturate", "s0.bn1"), ("residual", "layout", "s1.short"),
    ("residual", "row-noise", "stem"), ("residual", "int32", "s2.add"),
    ("depthwise", "fp16", "b0.depth"), ("depthwise", "saturate", "b1.act"), ("depthwise", "layout", "b2.up"),
    ("depthwise", "int32", "b1.gate"),
    ("u-net", "fp16", "u1"), ("u-net", "shuffle", "u0"), ("u-net", "layout", "u0.join"),
    ("u-net", "saturate", "d2.norm"),
    ("detector", "fp16", "box.conv"), ("detector", "shuffle", "boxes"), ("detector", "row-noise", "size"),
    ("super-resolution", "layout", "shuffled"), ("super-resolution", "shuffle", "c2.act"),
    ("speech", "shuffle", "mel"), ("speech", "fp16", "power"), ("speech", "row-noise", "mel"),
    ("speech", "saturate", "conv"),
    ("lstm", "fp16", "r0.all"), ("lstm", "shuffle", "r1.all"), ("lstm", "layout", "r0.order"),
    ("gru", "saturate", "r0.all"), ("gru", "int32", "r1.all"), ("gru", "row-noise", "head"),
    ("loop, if, scan", "fp16", "looped"), ("loop, if, scan", "layout", "chosen"), ("loop, if, scan", "saturate", "sum"),
    ("graph network", "row-noise", "g0.summed"), ("graph network", "shuffle", "g1.message"),
    ("graph network", "int32", "g0.relu"),
    ("diffusion", "fp16", "groups.norm"), ("diffusion", "saturate", "swish"), ("diffusion", "shuffle", "summed"),
    ("functions", "row-noise", "f1.act"), ("functions", "fp16", "f0.act"),
    ("recommender", "shuffle", "pairs"), ("recommender", "fp16", "logs"), ("recommender", "layout", "features"),
    ("external data", "layout", "s0.c1"), ("external data", "row-noise", "s1.bn2"),
    ("dynamic int8", "row-noise", "d1.scaled"), ("dynamic int8", "layout", "d0.product"),
    ("dynamic int8", "saturate", "d2.relu"), ("dynamic int8", "fp16", "y"),
    ("mixed precision", "layout", "m1.product"), ("mixed precision", "row-noise", "m0.relu"),
    ("bfloat16", "shuffle", "b1.product"), ("bfloat16", "saturate", "b0.tanh"),
    ("four bits", "row-noise", "n1"), ("four bits", "fp16", "n0"),
    ("float16", "row-noise", "s1.c1"), ("float16", "layout", "s0.bn1"), ("float16", "row-noise", "s2.add"),
    ("float16 encoder", "saturate", "l0.up.matmul"), ("float16 encoder", "shuffle", "l1.att.mixed"),
]  # fmt: skip

#: Faults that change nothing where they are: zeros reversed, an axis of one element reversed.
_WITHOUT_EFFECT = [("mixture of experts", "shuffle", "gates"), ("speech", "shuffle", "spectrum")]
_AGAINST_ITSELF = [
    ("speech", "row-noise", "power"), ("four bits", "layout", "n0.norm"),
    ("decoder", "row-noise", "l1.qk"), ("depthwise", "row-noise", "b1.down"),
]  # fmt: skip
#: In int8 models the fused file is compared with probes anyway; both sides run operator by operator.
_QUANTISED = [
    ("static int8", "layout", "s1.c1"), ("static int8", "row-noise", "s0.add"), ("static int8", "saturate", "stem.bn"),
    ("static int8, symmetric", "layout", "s0.c2"), ("static int8, symmetric", "shuffle", "s1.r1"),
    ("static int8, depthwise", "layout", "b1.depth"), ("static int8, depthwise", "row-noise", "b0.gated"),
]  # fmt: skip


def _planted(architecture: str, fault: str, operator: str, reference: str = "onnx") -> Scenario:
    candidate = f"faulty:backend=onnxrt,fault={fault},at={operator}"
    name = f"{architecture}: {fault} at {operator}"
    return Scenario(name, architecture, fault, at(operator), candidate, reference)


_MADE = [_planted(*item) for item in _PLANTED]
_MADE += [_planted(*item, reference="onnxrt") for item in _AGAINST_ITSELF]
_MADE += [_planted(*item, reference="onnxrt:optimization=off") for item in _QUANTISED]

_CHANGED = [
    ("encoder", "wrong weight", "l1.down.matmul", weight("l1.down.w", (3, 4), 0.5)),
    ("encoder", "wrong weight", "l0.n2", weight("l0.n2.scale", (7,), 0.05)),
    ("encoder", "wrong attribute", "l0.n1", attribute("l0.n1", "epsilon", 0.05)),
    ("decoder", "wrong weight", "l0.v", weight("l0.v.w", (0, 0), 0.3)),
    ("decoder", "wrong constant", "l1.n1.plus", weight("l1.n1.eps", (), 0.02)),
    ("vision transformer", "wrong attribute", "l1.att.p", attribute("l1.att.p", "axis", -2)),
    ("mixture of experts", "wrong weight", "router.matmul", weight("router.w", (2, 1), 3.0)),
    ("residual", "wrong weight", "s2.c1", weight("s2.c1.w", (5, 5, 1, 1), 0.4)),
    ("residual", "wrong attribute", "s0.bn1", attribute("s0.bn1", "epsilon", 0.03)),
    ("residual", "wrong attribute", "pool", attribute("pool", "pads", [0, 0, 2, 2])),
    ("depthwise", "wrong attribute", "b1.gate", attribute("b1.gate", "alpha", 0.2)),
    ("depthwise", "wrong weight", "b0.depth", weight("b0.depth.w", (3, 0, 0, 0), 0.5)),
    ("u-net", "wrong attribute", "u0", attribute("u0", "coordinate_transformation_mode", "align_corners")),
    ("u-net", "wrong attribute", "d1.act", attribute("d1.act", "alpha", 0.11)),
    ("super-resolution", "wrong attribute", "shuffled", attribute("shuffled", "mode", "DCR")),
    ("super-resolution", "wrong weight", "c1.act", weight("slope", (4, 0, 0), 0.02)),
    ("speech", "wrong weight", "spectrum", weight("window", (9,), 0.05)),
    ("lstm", "wrong weight", "r1.all", weight("r1.r", (0, 3, 3), 0.5)),
    ("gru", "wrong attribute", "r0.all", attribute("r0.all", "linear_before_reset", 1)),
    ("graph network", "wrong attribute", "g1.summed", attribute("g1.summed", "reduction", "max")),
    ("diffusion", "wrong attribute", "groups.norm", attribute("groups.norm", "epsilon", 0.1)),
    ("diffusion", "wrong attribute", "summed", attribute("summed", "exclusive", 1)),
    ("recommender", "wrong weight", "d0.matmul", weight("d0.w", (40, 2), 0.4)),
    ("external data", "wrong weight", "s1.c2", weight("s1.c2.w", (0, 0, 2, 2), 0.3)),
    ("dynamic int8", "wrong weight", "d1.product", weight("d1.w", (4, 4), 9)),
    ("dynamic int8", "wrong scale", "d0.steps", scaled("d0.step", 1.05)),
    ("four bits", "wrong scale", "n0", scaled("n0.s", 1.02)),
    ("mixed precision", "wrong weight", "m1.product", weight("m1.w", (0, 3), 0.25)),
    ("static int8", "wrong scale", "s1.c1.q", scaled("s1.c1.step", 1.3)),
]

_ALTERED = [
    Scenario(f"{name}: {fault} of {operator}", name, fault, at(operator), reference="good", changes=(change,))
    for name, fault, operator, change in _CHANGED
]


def _words_feed(*ids: int) -> dict[str, np.ndarray]:
    length = np.array(ids, np.int64)[None]
    return {"input_ids": length, "attention_mask": np.ones_like(length)}


_SEVEN = (weight("words.w", (7, 3), 0.8),)

_SPECIAL = [
    Scenario(
        "a weight in the body of a Loop", "loop, if, scan", "in a body", at("looped"), reference="good",
        net=sequences.bodies, changes=(weight("loop.w", (3, 4), 0.5),),
    ),
    Scenario("two wrong weights", "residual", "several at once", at("s0.c1"), reference="good",
             changes=(weight("s0.c1.w", (1, 1, 1, 1), 0.3), weight("s2.c1.w", (5, 5, 1, 1), 0.4))),
    Scenario("a small and a large one", "encoder", "several at once", at("l0.att.q.matmul"),
             reference="good", changes=(weight("l0.att.q.w", (1, 1), 0.3), weight("l1.down.w", (3, 4), 3.0))),
    Scenario("a wrong weight and a fault", "decoder", "several at once", at("l0.v"),
             candidate="faulty:backend=onnxrt,fault=row-noise,at=l1.mixed", reference="good",
             changes=(weight("l0.v.w", (0, 0), 0.3),)),
    Scenario("a row that no input reads", "encoder", "a wrong weight", at("words", verdicts=(OTHER,)), reference="good",
             changes=_SEVEN, feeds=(_words_feed(1, 2, 3, 4, 5, 6, 8, 9),)),
    Scenario("a row that the second input reads", "encoder", "only some inputs", at("words", verdicts=(WRONG, OTHER)),
             reference="good",
             changes=_SEVEN, feeds=(_words_feed(1, 2, 3, 4, 5, 6, 8, 9), _words_feed(1, 2, 3, 7, 5, 6, 8, 9))),
    *(replace(_planted(*item), fault=NO_FAULT, expect=NOTHING) for item in _WITHOUT_EFFECT),
    Scenario("NaN lost", "NaN in the input", "nan", at("doubled"), "faulty:backend=onnxrt,fault=nan,at=doubled",
             net=hard.not_a_number),
    Scenario("halves rounded up", "rounding of halves", "ties", at("rounded"),
             "faulty:backend=onnxrt,fault=ties,at=rounded", net=hard.rounding),
    Scenario("no halves to round", "rounding of halves", NO_FAULT, SAME, "faulty:backend=onnxrt,fault=ties,at=rounded",
             net=lambda: hard.rounding(ties=False)),
    Scenario("infinity that is felt", "overflow", "overflow", at("e", verdicts=(BORN, WRONG)), "onnx:dtype=float16",
             net=hard.overflowing),
    Scenario("infinity scaled down again", "overflow", "overflow", at("bias", verdicts=(BORN, WRONG)),
             "onnx:dtype=float16", net=hard.mask_lost),
    Scenario("row-noise before two masks that the output hardly shows", "mask", "row-noise", at("scores"),
             "faulty:backend=onnxrt,fault=row-noise,at=scores", net=hard.mask_twice),
    Scenario("infinite where the other is not, behind an error", "mask", "saturate",
             at("scores"), "faulty:backend=onnxrt,fault=saturate,at=scores", net=hard.mask_twice),
    Scenario("padding folded into pooling", "pad and pool", "a fused pair", Expect((FUSED,), ("padded", "pooled")),
             net=hard.pad_pool, here=folds_padding()),
    Scenario("another shape", "counted", "saturate", at("size"), "faulty:backend=onnxrt,fault=saturate,at=size",
             net=hard.counted),
    Scenario("NaN behind a wrong zero", "remainder", "int32", at("part"), "faulty:backend=onnxrt,fault=int32,at=part",
             net=hard.remainder),
    Scenario("a small error in one of two outputs", "two outputs", "fp16", at("product"),
             "faulty:backend=onnxrt,fault=fp16,at=product", net=hard.two_outputs),
    Scenario("static int8, ties and a fault: sum.dq and gelu together", "static int8, ties only", "a fused pair",
             Expect((FUSED,), ("gelu", "sum.dq")), "together:at=gelu,inside=sum.dq,fault=layout", net=lowbit.tied,
             reference="onnxrt:optimization=off"),
    Scenario("a mean written over a bias", "running mean", "a fused pair", Expect((FUSED,), ("normal",)),
             net=hard.running_mean),
    Scenario("a row reversed beside kept digits", "kept digits", "layout", at("h.matmul"),
             "faulty:backend=onnxrt,fault=layout,at=h.matmul", net=hard.kept_digits),
    *(Scenario(f"unknown operator: row-noise at {name}", "unknown operator", "row-noise", at(name),
               f"faulty:backend=onnxrt,fault=row-noise,at={name}", net=hard.lacking) for name in ("h", "z.matmul")),
    *(Scenario(f"fused experts: {fault} at {name}", "fused experts", fault, at(name),
               f"faulty:backend=onnxrt,fault={fault},at={name}", net=lowbit.fused_experts, here=fuses_experts())
      for fault, name in (("row-noise", "m"), ("shuffle", "q"), ("fp16", "m.norm"))),
    *(Scenario(f"fused experts: {what} of {name}", "fused experts", what, at(name), reference="good",
               changes=(change,), net=lowbit.fused_experts, here=fuses_experts())
      for what, name, change in (("wrong scale", "q", scaled("q.1.s", 1.02)),
                                 ("wrong attribute", "m", attribute("m", "normalize_routing_weights", 0)))),
    Scenario("a crash", "residual", "crash", at("s1.c1", verdicts=(FAILS,)),
             "faulty:backend=onnxrt,fault=crash,at=s1.c1", words=("--use-subprocess",)),
    Scenario("a hang", "super-resolution", "hang", at("c2", verdicts=(FAILS,)),
             "faulty:backend=onnxrt,fault=hang,at=c2", words=("--use-subprocess", "--timeout", "5"), fast=False),
]  # fmt: skip

#: Right one by one, wrong together: architecture, what is wrong, what lies between the two.
_FUSED = [
    ("residual", "s1.r1", "s1.bn1"),
    ("encoder", "l0.up", "l0.up.matmul"),
    ("decoder", "l0.silu", "l0.sigmoid"),
    ("depthwise", "b1.act", "b1.depth"),
    ("u-net", "d1.act", "d1"),
    ("static int8, symmetric, whole biases", "logits", "flat.dq"),
    ("static int8, symmetric, whole biases", "s0.c2", "s0.r1.dq"),
]
_PAIRS = [
    Scenario(
        f"{name}: {inside} and {wrong} together", name, "a fused pair", Expect((FUSED,), (wrong, inside)),
        f"together:at={wrong},inside={inside}",
    )
    for name, wrong, inside in _FUSED
]  # fmt: skip
#: On processors that saturate, ONNX Runtime's own fused kernel is such a pair.
_SATURATED = [
    Scenario(
        "static int8, symmetric, eight bits: saturation of the fused kernel", "static int8, symmetric", "a fused pair",
        Expect((FUSED,)), net=eight_bits, here=saturates(),
    )
]  # fmt: skip
_RACES = [
    Scenario(f"{name}: a race at {operator}", name, "race", at(operator, verdicts=(UNSTEADY,)), f"race:at={operator}")
    for name, operator in (("residual", "s1.c1"), ("encoder", "l0.n1"), ("lstm", "r0.all"))
]
#: A race in a fused kernel, which is gone where one looks.
_RACING_PAIRS = [
    Scenario(
        f"{name}: a race of {inside} and {wrong} together", name, "a fused pair", Expect((FUSED,), (wrong, inside)),
        f"race:at={wrong},inside={inside},share=0.5",
    )
    for name, wrong, inside in _FUSED[:2]
]  # fmt: skip

SCENARIOS = (*_MADE, *_ALTERED, *_SPECIAL, *_PAIRS, *_SATURATED, *_RACES, *_RACING_PAIRS)
