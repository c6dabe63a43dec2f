"""Who is right where the reference and a runtime say contrary things, by the text of ONNX's standard."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from truth.operators.case import Case

#: What a decision can be.
WRONG, OPEN, ROUNDING = "the runtime is wrong", "the standard leaves it open", "rounding decides"
_ORT, _OV, _TORCH, _OWN = "onnxruntime", "openvino", "torch", "onnx"


@dataclass(frozen=True)
class Decision:
    """Who is right in some cases.

    Attributes:
        kind: One of the three.
        runtimes: Whom it is about; `onnx` where the reference's own precision and float64 differ.
        operators: The operators.
        why: Where it is, and what the standard says, by its section.
        where: Whether a case is one of them, by the case and how the answers differ.
    """

    kind: str
    runtimes: Sequence[str]
    operators: Container[str]
    why: str
    where: Callable[[Case, str], bool] = lambda case, said: True


def decide(case: Case, runtime: str, said: str) -> Decision | None:
    """Return the decision on a disagreement; None if nobody has looked."""
    return next(
        (
            item
            for item in DECISIONS
            if runtime in item.runtimes and case.operator in item.operators and item.where(case, said)
        ),
        None,
    )


def _told(case: Case, **wanted: Any) -> bool:
    return all(case.attributes.get(name) == value for name, value in wanted.items())


def _array(case: Case, at: int = 0) -> Any:
    return case.feed.get(f"i{at}", np.zeros(0))


def _has_nan(case: Case, said: str = "") -> bool:
    return any(array.dtype.kind == "f" and bool(np.isnan(array).any()) for array in case.feed.values())


def _not_finite(case: Case, said: str = "") -> bool:
    return any(array.dtype.kind == "f" and not bool(np.isfinite(array).all()) for array in case.feed.values())


def _shape(case: Case, said: str) -> bool:
    return "shape" in said


def _of_auto_pad(case: Case) -> bool:
    return str(case.attributes.get("auto_pad", "")).startswith("SAME")


def _dilated(case: Case) -> bool:
    return any(step > 1 for step in case.attributes.get("dilations") or ())


class _Any(Container[str]):
    """All operators."""

    def __contains__(self, name: object) -> bool:
        return True


_ANY = _Any()
_POOLS = ("AveragePool", "LpPool", "MaxPool")
#: Numbers to which an error of float32 has grown with them.
_LARGE = 1e20
_RECURRENT = ("GRU", "LSTM", "RNN")
_FORESTS = ("TreeEnsembleClassifier",)


def _is_double(case: Case) -> bool:
    return any(array.dtype == np.float64 for array in case.feed.values())


def _is_whole(case: Case) -> bool:
    return _array(case).dtype.kind in "iu"


def _is_empty(case: Case) -> bool:
    return any(array.size == 0 for array in case.feed.values())


def _activations(case: Case, *names: str) -> bool:
    return any(name in names for name in case.attributes.get("activations") or ())


def _numbers(said: str) -> tuple[float, float] | None:
    """Return the two numbers that differ most; None where it is no number that differs."""
    found = said.partition(": ")[2].partition(",")[0].split(" for ")
    try:
        return float(found[0]), float(found[1])
    except (IndexError, ValueError):
        return None


def _is_tie(case: Case, said: str) -> bool:
    """Return whether codes are one step apart."""
    found = _numbers(said)
    return found is not None and abs(found[0] - found[1]) == 1


def _is_near(said: str) -> bool:
    """Return whether the worst numbers are equal but for a hundredth, or beyond what float32 is good for."""
    found = _numbers(said)
    if found is None:
        return False
    x, y = found
    return not (math.isfinite(x) and math.isfinite(y)) or abs(x - y) <= 1e-2 * max(abs(x), abs(y)) or abs(y) > _LARGE


def _classes(case: Case) -> set[int]:
    return set(case.attributes.get("class_ids") or ())


def _bases(case: Case) -> bool:
    return "base_values" in case.attributes


_PICKS = ("ReduceMax", "ReduceMin")
_SUMS = tuple(f"Reduce{name}" for name in ("L1", "L2", "LogSum", "LogSumExp", "Mean", "Prod", "Sum", "SumSquare"))
_REGRESSORS = ("LinearRegressor", "SVMRegressor", "TreeEnsembleRegressor")
_SCORED = (*_REGRESSORS, "LinearClassifier", "SVMClassifier")
_OF_NAN = (
    *("ArgMax", "ArgMin", "Celu", "Elu", "Exp", "GreaterOrEqual", "Greater", "HardSigmoid", "Less", "LessOrEqual"),
    *("LeakyRelu", "Max", "MaxPool", "Min", "PRelu", "Relu", "Selu", "Sign", "Softmax", "TopK", "IsInf", "Mod"),
    *("ReduceLogSumExp", *_PICKS),
)
_LIMITS = ("Gelu", "HardSwish", "Mish", "Softsign", "Swish", "Sigmoid")

DECISIONS: tuple[Decision, ...] = (
    # The reference beside itself, and where rounding decides.
    Decision(
        ROUNDING,
        (_OWN, _ORT, _OV),
        ("DynamicQuantizeLinear",),
        "A quotient lies at a half, in float32 on another side than in float64",
        _is_tie,
    ),
    Decision(
        OPEN,
        (_ORT, _OV),
        ("DynamicQuantizeLinear",),
        "The scale of data that is 0 everywhere",
        lambda case, said: not _array(case).any(),
    ),
    Decision(
        ROUNDING,
        (_OWN, _ORT, _OV),
        ("GroupNormalization",),
        "stash_type 1 has float64 calculated in float32, and two numbers are nearly equal",
        lambda case, said: _is_double(case),
    ),
    Decision(
        WRONG,
        (_ORT,),
        _RECURRENT,
        "RNN, defaults of activations: alpha of ThresholdedRelu is 1.0, as the operator's; ONNX Runtime has 0",
        lambda case, said: _activations(case, "ThresholdedRelu") and "activation_alpha" not in case.attributes,
    ),
    Decision(
        ROUNDING,
        (_OWN, _ORT, _OV),
        _RECURRENT,
        "Activations without bounds (Affine, Elu, LeakyRelu, …) grow with every step, and errors with them",
        lambda case, said: (
            _activations(case, "Affine", "Elu", "LeakyRelu", "Softplus", "ThresholdedRelu") and _is_near(said)
        ),
    ),
    Decision(
        ROUNDING,
        (_OWN, _ORT, _OV),
        ("Mean",),
        "A sum of large numbers overflows float32, and the mean does not",
        _not_finite,
    ),
    Decision(
        ROUNDING,
        (_OWN, _ORT),
        _SCORED,
        "PROBIT is steep at 0 and 1",
        lambda case, said: (
            _told(case, post_transform="PROBIT")
            and "nan" not in said
            and "shape" not in said
            and case.operator != "SVMRegressor"
            and _is_near(said)
        ),
    ),
    Decision(
        ROUNDING,
        (_OV,),
        ("MeanVarianceNormalization",),
        "bfloat16: of two numbers the mean is rounded to one of them",
        lambda case, said: _array(case).dtype.name == "bfloat16",
    ),
    # ONNX Runtime and OpenVINO alike.
    Decision(WRONG, (_ORT, _OV), ("NonZero",), "NonZero: for a scalar the shape is (0, N), not NumPy's", _shape),
    Decision(
        WRONG,
        (_ORT, _OV),
        ("ConvTranspose",),
        "ConvTranspose, auto_pad: SAME_UPPER and SAME_LOWER give strides times the size, also where the kernel is "
        "smaller than the stride",
        lambda case, said: _of_auto_pad(case) and _shape(case, said),
    ),
    Decision(
        WRONG,
        (_ORT, _OV),
        _POOLS,
        "Poolings, auto_pad: SAME_UPPER and SAME_LOWER give ceil(size / stride), also with dilations",
        lambda case, said: _of_auto_pad(case) and _dilated(case) and _shape(case, said),
    ),
    Decision(
        WRONG,
        (_ORT, _OV),
        _POOLS,
        "Poolings, auto_pad VALID: the formula has no window beyond the data with ceil_mode",
        lambda case, said: _told(case, auto_pad="VALID", ceil_mode=1) and _shape(case, said),
    ),
    Decision(
        OPEN,
        (_ORT, _OV),
        _POOLS,
        "auto_pad SAME with a kernel shorter than its stride: the formula gives a negative padding; the reference "
        "has 0",
        lambda case, said: _of_auto_pad(case),
    ),
    Decision(
        OPEN,
        (_OV,),
        _POOLS,
        "No window fits into the data, or a window holds only padding",
        lambda case, said: "shape" in said or "for -inf" in said or "for inf" in said,
    ),
    Decision(
        WRONG,
        (_ORT, _OV),
        _PICKS,
        "A number is given where NaN is among the values; as NumPy has it, to which it refers, it is NaN",
        lambda case, said: "nan" in said,
    ),
    Decision(
        OPEN, (_ORT, _OV, _TORCH), _OF_NAN, "What becomes of NaN, or of infinity minus itself, is not said", _not_finite
    ),
    Decision(OPEN, (_OV, _TORCH), _LIMITS, "0 times infinity on the way to a limit", _not_finite),
    Decision(OPEN, (_ORT, _OV), ("Dropout",), "The mask of sets before 12 is not described; what is kept is true here"),
    Decision(
        OPEN,
        (_ORT, _OV),
        ("Cast",),
        "Real numbers to whole ones of 4 bits: to the nearest, or towards 0",
        lambda case, said: case.attributes["to"] in {21, 22},
    ),
    # ONNX Runtime.
    Decision(
        WRONG,
        (_ORT,),
        ("AffineGrid",),
        "AffineGrid, align_corners: one element is the centre, as PyTorch has it, to which it refers",
    ),
    Decision(
        OPEN,
        (_ORT,),
        ("Attention",),
        "qk_matmul_output after the causal mask: minus infinity, or the smallest number",
        lambda case, said: "for -inf" in said,
    ),
    Decision(
        OPEN,
        (_ORT,),
        _RECURRENT,
        "Affine and ScaledTanh have no operators whose defaults they could have; ONNX Runtime has 0, the reference 1",
        lambda case, said: _activations(case, "Affine", "ScaledTanh") and "activation_alpha" not in case.attributes,
    ),
    Decision(OPEN, (_ORT,), ("LabelEncoder",), "Whether NaN is a key, before set 4 of ai.onnx.ml"),
    Decision(
        WRONG,
        (_ORT,),
        ("MatMulInteger",),
        "MatMulInteger of no columns gives what lay in memory, not 0",
        lambda case, said: _is_empty(case),
    ),
    Decision(
        WRONG, (_ORT,), ("MaxUnpool",), "MaxUnpool with output_shape: indices are not those into the larger output"
    ),
    Decision(
        WRONG,
        (_ORT,),
        ("QuantizeLinear", "Cast"),
        "Cast, FLOAT8E5M2 without saturation: beyond FLT_MAX is infinity, not NaN",
        lambda case, said: "nan for inf" in said,
    ),
    Decision(
        WRONG,
        (_ORT,),
        ("OneHot",),
        "OneHot-9: an index outside [0, depth) gives off_value alone",
        lambda case, said: case.opset <= 10,
    ),
    Decision(
        WRONG,
        (_ORT,),
        ("Resize",),
        "Resize, keep_aspect_ratio_policy with an axis counted from the end: not resized",
        lambda case, said: "keep_aspect_ratio_policy" in case.attributes,
    ),
    Decision(WRONG, (_ORT,), ("Unique",), "Unique with NaN: numbers are lost", _has_nan),
    Decision(OPEN, (_ORT,), ("StringSplit",), "Whether an empty text has no part, or an empty one"),
    Decision(
        WRONG,
        (_ORT,),
        ("TreeEnsemble",),
        "TreeEnsemble, post_transform: 1 is SOFTMAX and 2 LOGISTIC, not the other way round",
        lambda case, said: case.attributes.get("post_transform") in {1, 2},
    ),
    Decision(
        WRONG,
        (_ORT,),
        _REGRESSORS,
        "post_transform of one target is not applied",
        lambda case, said: (
            case.attributes.get("post_transform", "NONE") != "NONE"
            and case.attributes.get("n_targets", case.attributes.get("targets", 1)) == 1
        ),
    ),
    Decision(
        WRONG,
        (_ORT,),
        ("TreeEnsembleRegressor",),
        "base_values are added also where a target has no vote",
        lambda case, said: _bases(case),
    ),
    Decision(
        WRONG,
        (_ORT,),
        _FORESTS,
        "TreeEnsembleClassifier, votes for both of two classes: the second is said of every row",
        lambda case, said: _classes(case) == {0, 1},
    ),
    Decision(
        WRONG,
        (_ORT,),
        _FORESTS,
        "TreeEnsembleClassifier: a class without votes has the score 0, and may be the top one",
        lambda case, said: _classes(case) == {0, 1, 2},
    ),
    Decision(
        WRONG,
        (_ORT,),
        _FORESTS,
        "TreeEnsembleClassifier, votes for the second of two classes and base_values: the votes are lost",
        lambda case, said: _classes(case) == {1} and _bases(case),
    ),
    Decision(
        OPEN,
        (_ORT,),
        _FORESTS,
        "Two base_values where the model has one score for two classes",
        lambda case, said: _classes(case) == {0} and _bases(case),
    ),
    Decision(
        OPEN,
        (_ORT,),
        _SCORED,
        "PROBIT of what is no probability",
        lambda case, said: _told(case, post_transform="PROBIT"),
    ),
    # OpenVINO.
    Decision(WRONG, (_OV,), ("LSTM", "GRU", "RNN"), "layout 1: Y is [batch, time, directions, hidden]", _shape),
    Decision(
        WRONG,
        (_OV,),
        ("LSTM",),
        "input_forget and peepholes are ignored",
        lambda case, said: "input_forget" in case.attributes or "i7" in case.feed,
    ),
    Decision(
        WRONG,
        (_OV,),
        ("RoiAlign",),
        "RoiAlign: no sampling point, modes of coordinates and the maximum are otherwise than the standard's "
        "evaluator, "
        "ONNX Runtime and its examples",
    ),
    Decision(
        WRONG,
        (_OV,),
        ("TopK",),
        "TopK: of equal values the one with the lower index comes first",
        lambda case, said: said.startswith("o1"),
    ),
    Decision(
        WRONG,
        (_OV,),
        ("QLinearConv", "QLinearMatMul", "QuantizeLinear"),
        "QuantizeLinear: rounding to nearest ties to even, before the zero point is added",
        _is_tie,
    ),
    Decision(
        WRONG,
        (_OV,),
        ("Shrink", "ThresholdedRelu"),
        "“Otherwise, y = 0”: NaN and what is no more than the limit",
        _not_finite,
    ),
    Decision(
        OPEN,
        (_OV,),
        ("Shrink", "Gemm", "Erf", "ReduceLogSum", "ReduceLogSumExp", "ReduceL2", "ReduceMean"),
        "Real numbers among whole ones: whether and when they are cut off",
        lambda case, said: _is_whole(case),
    ),
    Decision(
        WRONG,
        (_OV,),
        (*_SUMS, *_PICKS),
        "Axes as attribute, opset 13: all are reduced",
        lambda case, said: "shape" in said,
    ),
    Decision(
        WRONG,
        (_OV,),
        _SUMS,
        "noop_with_empty_axes: “composite-reduction operators will still perform the non-reduction steps”",
        lambda case, said: "noop_with_empty_axes" in case.attributes and not _is_double(case),
    ),
    Decision(WRONG, (_OV,), _PICKS, "Of nothing: infinity, not the largest number", lambda case, said: _is_empty(case)),
    Decision(
        WRONG,
        (_OV,),
        ("Softmax", "LogSoftmax", "Hardmax"),
        "Softmax before set 13: all dimensions from axis on are one",
        lambda case, said: case.opset <= 12,
    ),
    Decision(WRONG, (_OV,), ("BitShift", "Cast"), "Bits that fall out; 8-bit floats that saturate"),
    Decision(
        WRONG,
        (_OV,),
        ("DFT", "AveragePool", "LpPool", "LRN", "MaxPool", "SpaceToDepth", "Pad", "Transpose", "Slice"),
        "DFT one-sided, inverse and of an axis from the end; windows beyond the padding; LRN of an even size; places "
        "by "
        "columns; CRD of SpaceToDepth; what is empty, or ends far behind the data",
    ),
    Decision(
        WRONG,
        (_OV,),
        ("Expand", "Flatten", "Hardmax", "MatMulInteger", "AffineGrid", "Range", "SequenceAt"),
        "Expand to no dimensions gives what lay in memory; Flatten, Hardmax and AffineGrid of sizes 0 and 1; vectors "
        "keep a "
        "dimension; Range that is empty; an index from the end",
    ),
    Decision(
        WRONG,
        (_OV,),
        ("ConvTranspose", "NonMaxSuppression", "Normalizer", "OneHot", "Resize", "Unique"),
        "ConvTranspose, output_shape with SAME_LOWER; boxes that touch; the largest amount in place of the largest "
        "number; "
        "Resize with exclude_outside or proportions kept; the order of Unique",
    ),
    Decision(
        WRONG,
        (_OV,),
        _ANY,
        "float64 is calculated in float32, and infinity becomes its largest number",
        lambda case, said: _is_double(case),
    ),
)
