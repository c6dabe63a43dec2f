"""The verdict in words, from the figures of a search."""

from __future__ import annotations

import math

from polycmp.precision import UNITS, granted
from polycmp_locate.result import BORN, CONSTANT, EQUAL, ILL_CONDITIONED, WITHIN_ROUNDING, WORSE, WRONG, Located, Row

#: An error up to this many times the noise floor is rounding.
MARGIN = 16.0
#: Beyond this relative error not even eight bits of precision would explain it (bfloat16 rounds by 2**-9, summed up).
_WRONG = 2.0**-6
_COARSER = ((2.0**-10, "float16 or TF32"), (2.0**-6, "bfloat16"))


def classify(row: Row) -> str:
    """Return which verdict one tensor gets."""
    mine, other = row.candidate, row.reference
    if mine is not None and other is not None:
        if not mine.is_finite and not row.passed:
            return BORN if row.inputs_finite else WRONG
        if mine.is_constant != other.is_constant and not row.passed:
            return CONSTANT
    if row.truth is not None and all(map(math.isfinite, row.truth)):
        of_candidate, of_reference = row.truth
        if of_reference > _floor_of(row) * MARGIN and of_candidate <= MARGIN * of_reference and not _outdoes(row):
            return ILL_CONDITIONED
    if row.passed:
        return EQUAL
    if math.isinf(row.relative) or row.stats is None:
        return WRONG
    if row.relative <= MARGIN * floor(row):
        return WITHIN_ROUNDING
    return WORSE if row.relative <= _WRONG else WRONG


def _floor_of(row: Row) -> float:
    return MARGIN * granted(row.unit)


def _outdoes(row: Row) -> bool:
    """Return whether the candidate is far closer to float64 than the reference, or the other way round."""
    of_candidate, of_reference = row.truth or (0.0, 0.0)
    return of_candidate * MARGIN < of_reference or of_reference * MARGIN < of_candidate


def floor(row: Row) -> float:
    """Return how much of a tensor's relative error rounding explains."""
    known = [granted(row.unit)]
    if row.truth is not None:
        known.append(row.truth[1])
    if row.own is not None and row.own.floor is not None and row.own.relative >= row.relative / 4:
        known.append(row.own.floor)
    return max(known)


def sentence(found: Located) -> str:
    """Return the verdict of a search as a sentence."""
    row = found.first_bad
    if row is None:
        return _nothing(found)
    who, node = found.candidate, row.node.label
    if found.verdict == BORN:
        return f"NaN/Inf born here: {_born(row, found)}{_later(found)}"
    if found.verdict == CONSTANT:
        side, figures = (who, row.candidate) if row.candidate and row.candidate.is_constant else (
            found.reference, row.reference
        )  # fmt: skip
        value = f"{figures.low:.6g}" if figures is not None else "one number"
        return f"suspiciously constant: {side} holds {value} everywhere in {row.tensor!r}, which {node} makes"
    if found.verdict == ILL_CONDITIONED:
        return _ill(row)
    if found.verdict == WITHIN_ROUNDING:
        return (
            f"within rounding: {row.tensor!r} is outside the tolerance, but by no more than rounding"
            f"{_to(found)} explains"
        )
    strength = WORSE if found.verdict == WORSE else WRONG
    return f"{strength}: {node} makes {row.tensor!r}{_how(row)}{_origin(found)}"


def _how(row: Row) -> str:
    if math.isinf(row.relative) or row.stats is None:
        return f", {row.reason}" if row.reason else ""
    text = f" with a relative error of {row.relative:.2g}"
    if row.unit > UNITS["float32"]:
        return f"{text}, where rounding explains {MARGIN * floor(row):.2g}"
    for limit, name in _COARSER:
        if row.relative <= limit:
            return f"{text}, as if calculated in {name}"
    return text


def _origin(found: Located) -> str:
    row = found.first_bad
    if row is None:
        return ""
    if found.origin is not None and found.origin is not row:
        return f"; the error itself comes from {found.origin.node.label}, and this operator amplifies it"
    if row.own is not None and row.own.passed and row.relative > MARGIN * max(row.own.relative, row.unit):
        return (
            "; alone on the reference's tensors this operator is right: it amplifies what comes in, or only goes "
            "wrong together with its neighbours"
        )
    if row.own is not None and not row.own.passed:
        return "; alone on the reference's tensors it is wrong, too"
    return ""


def _born(row: Row, found: Located) -> str:
    kind = "NaN" if row.candidate is not None and row.candidate.nan else "Inf"
    both = row.reference is not None and not row.reference.is_finite
    sides = f"both {found.candidate} and {found.reference}" if both else found.candidate
    return f"{kind} comes out of {row.node.label} in {sides}, whose inputs were finite"


def _later(found: Located) -> str:
    """Return what became of the model's outputs after NaN or Inf, if that is easily overlooked."""
    finals = {item.output for item in found.finals}
    for row in found.rows:
        for side, figures in ((found.candidate, row.candidate), (found.reference, row.reference)):
            if row.tensor in finals and not row.passed and figures is not None and figures.is_constant:
                return (
                    f"; the output {row.tensor!r} is finite again but suspiciously constant: "
                    f"{side} holds {figures.low:.6g} everywhere"
                )
    return ""


def _ill(row: Row) -> str:
    of_candidate, of_reference = row.truth or (0.0, 0.0)
    return (
        f"ill-conditioned model: in {row.tensor!r} the reference is off from float64 by {of_reference:.2g} relative, "
        f"the candidate by {of_candidate:.2g}; {row.node.label} loses the digits, and no backend is to blame"
    )


def _to(found: Located) -> str:
    """Return to which type was rounded, where that is coarser than the model's."""
    return f" to {found.precision}," if found.precision else ""


def _nothing(found: Located) -> str:
    shown = f"{len(found.rows)} tensors" if found.rows else "all outputs"
    ill = next(
        (row for row in found.rows if found.verdict == ILL_CONDITIONED and classify(row) == ILL_CONDITIONED), None
    )
    if ill is not None:
        return _ill(ill)
    if found.verdict == WITHIN_ROUNDING:
        return (
            f"within rounding: some of {shown} are outside the tolerance, none by more than rounding"
            f"{_to(found)} explains"
        )
    return f"nothing wrong: {shown} agree within the tolerance"


def believed(found: Located) -> str:
    """Return whom float64 sides with at the outputs, where it clearly does; else nothing."""
    finals = {item.output for item in found.finals if not item.passed}
    for row in found.rows:
        if row.tensor in finals and row.truth is not None:
            of_candidate, of_reference = row.truth
            if of_candidate * MARGIN < of_reference:
                return (
                    f"float64 sides with the candidate: in the output {row.tensor!r} {found.reference} is the one "
                    "that is off"
                )
    return ""


def _or_coarser(found: Located) -> str:
    return f" or of {found.precision}" if found.precision else ""


def births(found: Located) -> str:
    """Return where NaN or Inf is born, if that is not the first bad tensor anyway."""
    for row in found.rows:
        if classify(row) == BORN:
            return "" if row is found.first_bad else f"NaN/Inf born here: {_born(row, found)}"
    return ""


def explanation(found: Located) -> list[str]:
    """Return the figures behind the sentence, one line each."""
    row = found.first_bad
    if row is None:
        return []
    lines = [
        f"accumulated error of {row.tensor!r}: {row.max_abs:.3g} absolute, {row.relative:.3g} relative to the largest "
        f"magnitude; unit roundoff of its type{_or_coarser(found)}: {row.unit:.3g}"
    ]
    if row.own is not None:
        lines.append(
            f"own error, fed with the reference's tensors: {row.own.max_abs:.3g} absolute, "
            f"{row.own.relative:.3g} relative"
        )
        if row.own.floor is not None:
            lines.append(f"noise floor of the operator ({row.own.floor_from}): {row.own.floor:.3g} relative")
        if row.own.candidate is not None and row.own.reference is not None:
            lines.append(
                f"alone, against float64: candidate {row.own.candidate:.3g}, reference {row.own.reference:.3g} relative"
            )
    if row.truth is not None:
        lines.append(
            f"accumulated, against float64: candidate {row.truth[0]:.3g}, reference {row.truth[1]:.3g} relative"
        )
    lines.append(f"rounding explains up to {MARGIN * floor(row):.3g} relative")
    return lines
