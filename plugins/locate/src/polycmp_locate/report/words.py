"""The verdict in words, from the figures of a search; decides nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from polycmp.graph import GraphNode
from polycmp.precision import UNITS
from polycmp_locate import sentences as say
from polycmp_locate.decisions import (
    in_place_is_rounding,
    is_culprit,
    is_right_alone,
    loses_digits,
    reference_is_wrong,
    rounds_on_the_way,
    sides_with_candidate,
    standalone_is_rounding,
    standalone_limit,
)
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.pairing.source import source_of
from polycmp_locate.pairing.words import pairing_notes, reads_otherwise
from polycmp_locate.report.summed import worst_steps
from polycmp_locate.rounding.figures import largest_of
from polycmp_locate.rounding.kinds import SELECTING
from polycmp_locate.rounding.quantised import StepError
from polycmp_locate.rounding.thresholds import is_gain, type_like, worth_running
from polycmp_locate.values.judged import (
    CAUSE,
    CONSTANT,
    ILL_CONDITIONED,
    NARROWED,
    NOT_FINITE,
    UNDECIDED,
    WITHIN_ROUNDING,
    WORSE,
    WRONG,
)
from polycmp_locate.values.located import Located
from polycmp_locate.values.measured import Row

#: Notes on harmless tensors before the rest is only counted.
_SHOWN = 2
#: A scale that reaches this share of a tensor's range covers it.
_COVERED = 0.95
#: Of what a scale clips more than this share is at its ends.
_CLIPPED = 0.5


def sentence(found: Located) -> str:
    """Return the verdict of a search as a sentence."""
    judged = found.judged
    row = judged.first_bad
    if row is None:
        return _nothing(found)
    return f"{_accusation(row, found)}{_outputs_agree(found)}{_operators(found)}{_where(judged.origin or row)}"


def _operators(found: Located) -> str:
    """Name the operators of both models that make the tensor, where they are not the same ones."""
    judged = found.judged
    row = judged.origin or judged.first_bad
    node = row.node if row is not None else None
    if not isinstance(node, PartNode) or not node.reference_ops:
        return ""
    text = ""
    if node.left_out:
        text = say.leaves_out(found.candidate, " and ".join(node.left_out), found.reference)
    elif node.candidate_ops != node.reference_ops and not node.one_of:
        mine, other = (", ".join(dict.fromkeys(ops)) for ops in (node.candidate_ops, node.reference_ops))
        text = say.computed_with(found.candidate, mine, found.reference, other)
    return text + reads_otherwise(node, found.candidate, found.reference)


def _outputs_agree(found: Located) -> str:
    judged = found.judged
    agree = bool(judged.finals) and all(item.passed for item in judged.finals)
    return say.OUTPUTS_AGREE if agree else ""


def _accusation(row: Row, found: Located) -> str:
    judged = found.judged
    who, node = found.candidate, row.node.label
    if judged.verdict == NOT_FINITE:
        return f"{NOT_FINITE}: {_not_finite(row, found)}{_later(found)}{_alone(found)}"
    if judged.verdict == CONSTANT:
        side, figures = (who, row.candidate) if row.candidate and row.candidate.is_constant else (
            found.reference, row.reference
        )  # fmt: skip
        value = f"{figures.low:.6g}" if figures is not None else "one number"
        return f"{CONSTANT}: {say.constant(side, value, row.tensor, node)}{_alone(found)}"
    if judged.verdict == NARROWED:
        kind = row.node.coarsest if isinstance(row.node, PartNode) else row.type
        return f"{NARROWED}: {say.narrowed(node, row.tensor, kind, judged.usual_type)}{_off(row)}"
    strength = WORSE if judged.verdict == WORSE else WRONG
    if judged.origin is not None and judged.origin is not row:
        origin = judged.origin
        return f"{say.computes(strength, origin.node.label, origin.tensor)}{say.grows(node, row.tensor)}{_off(row)}"
    hidden = row.node.one_of if isinstance(row.node, PartNode) else ()
    how = _how(row, is_explained=any(hint.startswith(CAUSE) for hint in judged.hints))
    if hidden:
        return f"{strength}: {say.one_of(hidden, row.tensor, how)}"
    return f"{say.computes(strength, node, row.tensor)}{how}{_alone(found)}"


def _where(row: Row) -> str:
    source = source_of(row.node)
    return say.in_source(source) if source else ""


def _how(row: Row, *, is_explained: bool) -> str:
    """Describe the error of an operator.

    Args:
        row: The operator's output.
        is_explained: Whether its cause is known, so that a type which the error looks like explains nothing.
    """
    steps = row.standalone.steps if row.standalone is not None else None
    if steps is not None and not steps.is_rounding:
        return _stepwise(row, steps)
    if row.stats is None or math.isnan(row.relative):
        return f", {row.reason}" if row.reason else ""
    if math.isinf(row.relative):
        return f", {row.reason}" if row.reason else ""
    text = say.relative_error(row.relative)
    if not row.unit:
        return text
    share = row.standalone.gain or row.standalone.in_place_gain if row.standalone is not None else 0.0
    if is_gain(share, row.unit):
        return f"{text}{say.common_factor(share)}"
    if row.unit > UNITS["float32"]:
        return f"{text}{say.of_which_explained(standalone_limit(row))}"
    is_explained = is_explained or (isinstance(row.node, PartNode) and bool(row.node.left_out))
    like = "" if is_explained else type_like(row.relative)
    return f"{text}{say.as_if_in(like)}" if like else text


def _off(row: Row) -> str:
    return f",{say.relative_error(row.relative)}" if math.isfinite(row.relative) else ""


def _stepwise(row: Row, steps: StepError) -> str:
    """Describe the error that quantising made in a tensor by itself."""
    kind = row.node.coarsest if isinstance(row.node, PartNode) else "steps"
    other = row.reference
    if steps.drowned and not steps.is_scaled:
        reach = f"{other.low:.3g} to {other.high:.3g}" if other is not None else "masks"
        return say.drowned(reach, steps.drowned)
    if steps.is_clipped and not steps.is_only_scaled and other is not None and _covers_less(row, steps):
        return say.clipped((steps.low, steps.high), (other.low, other.high), steps.beyond)
    if steps.is_scaled:
        return say.scaled(steps.gain, kind)
    if steps.is_shifted:
        return say.shifted(steps.shift, kind)
    if steps.is_noisy and not steps.is_clipped:
        return say.noisy(steps.rms, steps.rms_limit, kind)
    return say.beyond_steps(steps.beyond, kind)


def _covers_less(row: Row, steps: StepError) -> bool:
    other = row.reference
    less = other is not None and (steps.high < other.high * _COVERED or steps.low > other.low * _COVERED)
    return less and steps.at_ends > _CLIPPED


def _alone(found: Located) -> str:
    """Describe the result of running the operator by itself."""
    judged = found.judged
    row = judged.first_bad
    if row is None:
        return ""
    if row.standalone is None:
        return say.NOT_ALONE
    if judged.verdict == NOT_FINITE:
        return ""
    if is_right_alone(row) and row.standalone.in_place is None:
        return say.ALONE_RIGHT
    if reference_is_wrong(row):
        of_candidate, of_reference = row.standalone.candidate or 0.0, row.standalone.reference or 0.0
        return say.reference_off(found.reference, of_reference, found.candidate, of_candidate)
    if not standalone_is_rounding(row) and is_culprit(row):
        return say.ALONE_WRONG
    if not in_place_is_rounding(row):
        return say.wrong_in_place(found.candidate)
    return ""


def _not_finite(row: Row, found: Located) -> str:
    mine, other = row.candidate, row.reference
    candidate_is = mine is not None and not mine.is_finite
    shown, beside = (mine, other) if candidate_is else (other, None)
    kind = "NaN" if shown is not None and shown.nan else "Inf"
    who = found.candidate if candidate_is else found.reference
    both = beside is not None and bool(beside.nan if kind == "NaN" else beside.inf)
    sides = f"both {found.candidate} and {found.reference}" if both else who
    held = _held_in_weights(row) and not both and beside is not None
    text = say.not_finite(row.node.label, kind, sides, from_finite=row.inputs_finite and not _held_in_weights(row))
    return text + (say.infinite_weight(found.reference, rounds_on_the_way(row)) if held else "")


def _held_in_weights(row: Row) -> bool:
    """Return whether a weight of the reference is not finite: operators that only move numbers of it make no others."""
    if not isinstance(row.node, PartNode) or row.reference is None or row.reference.is_finite or not row.inputs_finite:
        return False
    return bool(row.node.reference_ops) and SELECTING.issuperset(row.node.reference_ops)


def _later(found: Located) -> str:
    """Describe the model's outputs after NaN or Inf, if they are easily overlooked."""
    judged = found.judged
    finals = {item.output for item in judged.finals}
    for row in judged.rows:
        for side, figures in ((found.candidate, row.candidate), (found.reference, row.reference)):
            if row is judged.first_bad or row.candidate is None or not row.candidate.is_finite:
                continue
            if row.tensor in finals and not row.passed and figures is not None and figures.is_constant:
                return say.still_constant(row.tensor, side, f"{figures.low:.6g}")
    return ""


def _nothing(found: Located) -> str:
    judged = found.judged
    seen = [row for row in judged.rows if not row.is_borrowed]
    outside = sum(not row.passed for row in seen)
    if judged.verdict == ILL_CONDITIONED:
        return _ill(found)
    if judged.verdict == UNDECIDED:
        return _undecided(found)
    if outside and all(row.passed or row.is_matched for row in seen) and judged.turning is None:
        return say.alike_not_finite(outside, len(seen))
    if judged.verdict == WITHIN_ROUNDING:
        if judged.turning is not None:
            return f"{WITHIN_ROUNDING}: {say.no_operator_wrong(_turned(judged.turning))}"
        summed = worst_steps(found)
        if summed:
            return f"{WITHIN_ROUNDING}: {summed}{_overflow(found)}"
        return f"{WITHIN_ROUNDING}: {say.explained(outside, len(seen), found.precision)}{_overflow(found)}"
    return say.outputs_agree_though(outside, len(seen)) if outside else say.all_agree(len(seen))


def _overflow(found: Located) -> str:
    """Name the tensors that a type cannot hold, although nothing after them suffers from it here."""
    rows = _overflows(found.judged.rows)
    if not rows:
        return ""
    first, more = rows[0], f" and {len(rows) - 1} more" if len(rows) > 1 else ""
    held = first.reference.scale if first.reference is not None else 0.0
    return say.cannot_hold(first.type.partition("[")[0], first.tensor, more, held, found.reference, first.node.label)


def _overflows(rows: Sequence[Row]) -> list[Row]:
    """Return the tensors of real numbers whose type in the candidate is too small for what the reference holds.

    Numbers that only mask others, as large negative ones do, may become infinite.
    """
    return [
        row for row in rows
        if isinstance(row.node, PartNode) and row.unit and row.candidate is not None and row.candidate.inf
        and row.reference is not None and row.reference.high > largest_of(row.type.partition("[")[0])
    ]  # fmt: skip


def _turned(row: Row) -> str:
    """Describe how rounding became a difference that the outputs show."""
    kind = "a tie of rounding" if row.in_steps and row.max_abs <= 1.0 else "a decision between nearly equal values"
    count = row.stats.count if row.stats is not None else 0
    some = f"{_differing(row)} of {count} elements" if count else "elements"
    by = "one step" if row.in_steps and row.max_abs <= 1.0 else f"up to {row.max_abs:.3g}"
    return say.turned(row.tensor, row.node.label, some, by, kind)


def _differing(row: Row) -> int:
    return row.stats.failed if row.stats is not None else 0


def _ill(found: Located) -> str:
    row = found.judged.turning
    if row is None:
        return ILL_CONDITIONED
    if row.truth is not None and all(map(math.isfinite, row.truth)) and row.truth[1] > worth_running(row.unit):
        of_candidate, of_reference = row.truth
        return f"{ILL_CONDITIONED}: {say.loses_digits(row.tensor, of_reference, of_candidate, row.node.label)}"
    growth = f"{row.jump:.3g} times" if math.isfinite(row.jump) and row.jump > 1 else "from its inputs"
    return f"{ILL_CONDITIONED}: {say.amplifies_rounding(row.node.label, growth, row.tensor)}"


def _undecided(found: Located) -> str:
    row, probe = found.judged.turning, found.judged.seen_probe
    error = f"{probe.error:.2g} relative" if probe is not None else "more than rounding explains"
    if row is None and probe is not None and not probe.trusted:
        return f"{UNDECIDED}: {say.not_as_probed(error, probe.probed_error)}"
    if row is None:
        summed = worst_steps(found)
        if summed:
            return f"{UNDECIDED}: {summed}"
        return f"{UNDECIDED}: {say.too_far(error)}"
    why = say.POSTPONED if row.was_postponed else say.UNJUDGEABLE
    return f"{UNDECIDED}: {say.not_judged(error, row.tensor, row.node.label, why)}"


def notes_of(found: Located) -> list[str]:
    """Return further remarks for the reader."""
    pairs = pairing_notes(found.pairing, found.candidate, found.reference)
    return [*pairs, *_absorbed(found), *_harmless(found), *_float64(found)]


def _absorbed(found: Located) -> Iterator[str]:
    judged = found.judged
    for row, readers in judged.absorbed[:_SHOWN]:
        what = _beyond(row, found)
        yield say.absorbed(what, row.tensor, row.node.label, _some(readers))
    if len(judged.absorbed) > _SHOWN:
        yield say.more_absorbed(len(judged.absorbed) - _SHOWN)


def _beyond(row: Row, found: Located) -> str:
    for side, figures in ((found.candidate, row.candidate), (found.reference, row.reference)):
        if figures is not None and not figures.is_finite:
            return f"{'NaN' if figures.nan else 'Inf'} of {side}"
    mine, other = row.candidate, row.reference
    held = f" ({mine.scale:.3g} instead of {other.scale:.3g})" if mine is not None and other is not None else ""
    return f"a saturated value{held}"


def _some(readers: Sequence[GraphNode]) -> str:
    names = list(dict.fromkeys(node.label for node in readers))
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return " and ".join(names[:_SHOWN]) + more if names else "no operator, since it is not read"


def _harmless(found: Located) -> Iterator[str]:
    judged = found.judged
    for row in judged.harmless[:_SHOWN]:
        own = row.standalone.relative if row.standalone is not None else row.relative
        yield say.harmless(row.node.label, own, row.tensor)
    if len(judged.harmless) > _SHOWN:
        yield say.more_harmless(len(judged.harmless) - _SHOWN)


def _float64(found: Located) -> Iterator[str]:
    """Yield the judgement of float64 on the outputs, where it differs from both sides."""
    judged = found.judged
    finals = {item.output: item.passed for item in judged.finals}
    for row in judged.rows:
        if row.tensor not in finals or row.truth is None:
            continue
        if not finals[row.tensor] and sides_with_candidate(row):
            yield say.sides_with_candidate(row.tensor, found.reference)
            return
        if finals[row.tensor] and loses_digits(row):
            yield say.digits_lost(row.tensor, row.truth[1])
            return


def explanation(found: Located) -> list[str]:
    """Return the figures behind the sentence, one line each."""
    judged = found.judged
    row = judged.first_bad or judged.turning
    if row is None:
        return []
    coarser = f" or of {found.precision}" if found.precision else ""
    lines = [
        f"accumulated error of {row.tensor!r}: {row.max_abs:.3g} absolute, {row.relative:.3g} relative to the largest "
        f"magnitude; unit roundoff of its type{coarser}: {row.unit:.3g}"
    ]
    lines += _standalone_lines(row)
    if row.truth is not None:
        lines.append(
            f"accumulated, against float64: candidate {row.truth[0]:.3g}, reference {row.truth[1]:.3g} relative"
        )
    return [*lines, f"of this operator alone rounding explains up to {standalone_limit(row):.3g} relative"]


def _standalone_lines(row: Row) -> Iterator[str]:
    own = row.standalone
    if own is None:
        return
    yield f"own error, fed with the reference's tensors: {own.max_abs:.3g} absolute, {own.relative:.3g} relative"
    if own.floor is not None:
        yield f"noise floor of the operator ({own.floor_from}): {own.floor:.3g} relative"
    if own.candidate is not None and own.reference is not None:
        yield f"alone, against float64: candidate {own.candidate:.3g}, reference {own.reference:.3g} relative"
    if own.in_place is not None:
        yield f"in its place, against the reference's operator on the same tensors: {own.in_place:.3g} relative"
    if own.share:
        yield f"{own.share:.3g} of {own.count} elements differ"
