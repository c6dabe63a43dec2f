"""Sentences on the verdict, from the figures of a search; nothing is decided here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from polycmp.graph import GraphNode
from polycmp.precision import UNITS
from polycmp.sentences import counted, listed
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.pairing.source import source_of
from polycmp_locate.pairing.words import all_of, pairing_notes, reads_otherwise
from polycmp_locate.report.summed import worst_steps
from polycmp_locate.rounding.figures import largest_of
from polycmp_locate.rounding.kinds import SELECTING
from polycmp_locate.rounding.quantised import StepError
from polycmp_locate.rounding.thresholds import is_gain, type_like, worth_running
from polycmp_locate.row_rules import (
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
from polycmp_locate.values.judged import (
    CONSTANT,
    ILL_CONDITIONED,
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
#: Attributes that differ and are named.
_MOST_ATTRIBUTES = 2
#: Of what is off more than this share is at the ends of a scale that clips it.
_CLIPPED_SHARE = 0.5


def sentence(located: Located) -> str:
    """Return the verdict of a search as a sentence."""
    judged = located.judged
    row = judged.first_bad
    if row is None:
        return _nothing(located)
    return f"{_accusation(row, located)}{judged.even_so}{_operators(located)}{_where(judged.accused or row)}"


def _operators(located: Located) -> str:
    """Name the operators of both models that make the tensor, where they are not the same ones."""
    judged = located.judged
    row = judged.accused
    node = row.node if row is not None else None
    if not isinstance(node, PartNode) or not node.reference_ops:
        return ""
    text = ""
    if node.omitted:
        text = f"; {located.candidate} leaves out {' and '.join(node.omitted)} of {located.reference}"
    elif node.candidate_ops and node.candidate_ops != node.reference_ops and not node.one_of:
        of_candidate, of_reference = (", ".join(dict.fromkeys(ops)) for ops in (node.candidate_ops, node.reference_ops))
        text = f"; {located.candidate} computes it with {of_candidate}, {located.reference} with {of_reference}"
    text += "".join(
        f"; {item.op_type} of {located.candidate} has {item.candidate}, that of {located.reference} {item.reference}"
        for item in node.differing_attributes[:_MOST_ATTRIBUTES]
    )
    return text + reads_otherwise(node, located.candidate, located.reference)


def _accusation(row: Row, located: Located) -> str:
    judged = located.judged
    who, node = located.candidate, row.node.label
    if judged.verdict == NOT_FINITE:
        return f"{NOT_FINITE}: {_not_finite(row, located)}{_later(located)}{_alone(row, located)}"
    if judged.verdict == CONSTANT:
        side, figures = (who, row.candidate) if row.candidate and row.candidate.is_constant else (
            located.reference, row.reference
        )  # fmt: skip
        value = f"{figures.low:.6g}" if figures is not None else "one number"
        return (
            f"{CONSTANT}: {side} holds {value} everywhere in {row.tensor!r}, the output of {node}{_alone(row, located)}"
        )
    strength = WORSE if judged.verdict == WORSE else WRONG
    if judged.origin is not None and judged.origin is not row:
        origin = judged.origin
        return (
            f"{strength}: {origin.node.label} computes {origin.tensor!r}; its error is within the tolerance there "
            f"and first outside it in {row.tensor!r}, which {node} computes{_off(row)}"
        )
    hidden = row.node.one_of if isinstance(row.node, PartNode) else ()
    how = _how(row, is_explained=any(reason.is_cause for reason in judged.reasons))
    if hidden and _is_as_defined(located):
        return _elsewhere(row, hidden, located)
    if hidden:
        return (
            f"{strength}: one of {all_of(hidden)}, which compute {row.tensor!r}{how}; nothing between them has a "
            "counterpart to compare with"
        )
    return f"{strength}: {node} computes {row.tensor!r}{how}{_alone(row, located)}"


def _is_as_defined(located: Located) -> bool:
    return any(reason.is_as_defined for reason in located.judged.reasons)


def _elsewhere(row: Row, hidden: Sequence[str], located: Located) -> str:
    """Say that of several operators none is wrong: the file, or what a saved run was fed, differs somewhere there."""
    who, other = located.candidate, located.reference
    recorded = located.pairing is not None and located.pairing.recorded
    inputs, fed = (" or other inputs", f", or {other} was fed with other inputs") if recorded else ("", "")
    return (
        f"another file{inputs}: {who} computes what its file says and makes another {row.tensor!r} than {other}"
        f"{_off(row)}; one of {all_of(hidden)} is another one there{fed}: nothing between them has a counterpart to "
        "compare with"
    )


def _where(row: Row) -> str:
    source = source_of(row.node)
    return f"; in the model's source: {source}" if source else ""


def _how(row: Row, *, is_explained: bool) -> str:
    """Describe the error of an operator.

    Args:
        row: The operator's output.
        is_explained: Whether its cause is known, so that a type which the error looks like explains nothing.
    """
    steps = row.standalone.steps if row.standalone is not None else None
    if steps is not None and not steps.is_rounding:
        return _stepwise(row, steps)
    if row.stats is None or not math.isfinite(row.relative):
        return f", {row.reason}" if row.reason else ""
    text = f" with a relative error of {row.relative:.2g}"
    if not row.unit:
        return text
    share = row.standalone.gain or row.standalone.in_place_gain if row.standalone is not None else 0.0
    if is_gain(share, row.unit):
        return f"{text}, of which {share:.2g} is a factor common to a whole row, which is not rounding"
    if row.unit > UNITS["float32"]:
        return f"{text}, of which rounding explains {standalone_limit(row):.2g}"
    like = "" if is_explained or _has_other_operators(row) else type_like(row.relative)
    return f"{text}, as if computed in {like}" if like else text


def _has_other_operators(row: Row) -> bool:
    """Return whether the two models compute a tensor otherwise than by types, which the sentence says and explains."""
    if not isinstance(row.node, PartNode) or not row.node.reference_ops:
        return False
    of_candidate, of_reference = ({*ops} - {"Cast"} for ops in (row.node.candidate_ops, row.node.reference_ops))
    return bool(row.node.omitted) or of_candidate != of_reference


def _off(row: Row) -> str:
    return f", with a relative error of {row.relative:.2g}" if math.isfinite(row.relative) else ""


def _stepwise(row: Row, steps: StepError) -> str:
    """Describe the error that quantising a tensor causes by itself."""
    kind = row.node.coarsest if isinstance(row.node, PartNode) else "steps"
    other = row.reference
    if steps.drowned and not steps.is_scaled:
        reach = f"{other.low:.3g} to {other.high:.3g}" if other is not None else "masks"
        return (
            f": its scale must cover {reach}, values that only mask, and rounds everything else, up to "
            f"{steps.drowned:.3g}, away: keep it in float, or calibrate and run with a mask of smaller numbers"
        )
    is_off = (steps.is_clipped or steps.has_outliers) and not steps.is_only_scaled
    if is_off and steps.at_ends > _CLIPPED_SHARE and other is not None:
        return (
            f": its scale covers {steps.low:.4g} to {steps.high:.4g}, but the reference's numbers reach from "
            f"{other.low:.4g} to {other.high:.4g}, so {steps.beyond:.2g} of the elements are clipped"
        )
    if steps.is_cut_in_reading and isinstance(row.node, PartNode):
        return _cut_in_reading(row, row.node)
    if steps.is_scaled:
        return f", with numbers {steps.gain:.4g} times the reference's: as with a wrong scale, not rounding to {kind}"
    if steps.is_shifted:
        return (
            f", with all numbers of a channel off by {steps.shift:.2g} of the largest on average: a wrong bias or "
            f"zero point, not rounding to {kind}"
        )
    if steps.is_noisy and not steps.has_outliers:
        return (
            f", with errors of {steps.rms:.2g} of the largest number on average (root mean square), and rounding to "
            f"{kind} was measured to explain {steps.rms_limit:.2g}"
        )
    return f" with {steps.beyond:.2g} of the elements off by more than rounding to {kind} explains (to see why: --rank)"


def _cut_in_reading(row: Row, node: PartNode) -> str:
    """Describe the range that leaves out numbers that a part reads."""
    for name, (low, high) in node.ends.items():
        read = row.inputs.get(name)
        if read is not None and (read.low < low or read.high > high):
            return (
                f": its scale for {name!r} covers {low:.4g} to {high:.4g}, but the reference's numbers reach from "
                f"{read.low:.4g} to {read.high:.4g}"
            )
    return ""


def _alone(row: Row, located: Located) -> str:
    """Describe the result of running the operator by itself."""
    if row.standalone is None:
        return "; it could not be run alone, but its inputs are right"
    if located.judged.verdict == NOT_FINITE:
        return ""
    if is_right_alone(row) and row.standalone.in_place is None:
        return (
            "; run alone, it is right, but its inputs cannot be seen, so the operators before it could not be run alone"
        )
    if reference_is_wrong(row):
        of_candidate, of_reference = row.standalone.candidate or 0.0, row.standalone.reference or 0.0
        return (
            f"; run alone, it is {located.reference} that is off from float64, by {of_reference:.2g}; "
            f"{located.candidate} is off by {of_candidate:.2g}"
        )
    if not standalone_is_rounding(row) and is_culprit(row):
        if row.standalone.on_own:
            return f"; from what {located.candidate} read there, {located.reference} computes something else"
        if _is_as_defined(located):
            return (
                f"; run alone on the reference's tensors, {located.candidate} computes what its file says, which is "
                "something else"
            )
        return "; run alone on the reference's tensors, it is wrong as well"
    if not in_place_is_rounding(row):
        return (
            f"; run alone on the reference's tensors, it is right, but inside the model {located.candidate} computes "
            "something else from the same inputs"
        )
    return ""


def _not_finite(row: Row, located: Located) -> str:
    of_candidate, of_reference = row.candidate, row.reference
    candidate_is = of_candidate is not None and not of_candidate.is_finite
    shown, beside = (of_candidate, of_reference) if candidate_is else (of_reference, None)
    kind = "NaN" if shown is not None and shown.nan else "Inf"
    who = located.candidate if candidate_is else located.reference
    both = beside is not None and bool(beside.nan if kind == "NaN" else beside.inf)
    sides = f"both {located.candidate} and {located.reference}" if both else who
    in_weights = _is_in_weights(row)
    source = " from finite inputs" if row.inputs_finite and not in_weights else ""
    text = f"{row.node.label} produces {kind} in {sides}{source}"
    if not in_weights or both or beside is None:
        return text
    scaled = rounds_on_the_way(row)
    cure = "; no scale covers an infinite number: keep that weight in float" if scaled else ""
    return f"{text}, where a weight of {located.reference} holds Inf{cure}"


def _is_in_weights(row: Row) -> bool:
    """Return whether a weight of the reference is not finite: operators that only move numbers of it make no others."""
    if not isinstance(row.node, PartNode) or row.reference is None or row.reference.is_finite or not row.inputs_finite:
        return False
    return bool(row.node.reference_ops) and SELECTING.issuperset(row.node.reference_ops)


def _later(located: Located) -> str:
    """Describe the model's outputs after NaN or Inf, if they are easily overlooked."""
    judged = located.judged
    finals = {item.output for item in judged.finals}
    for row in judged.rows:
        for side, figures in ((located.candidate, row.candidate), (located.reference, row.reference)):
            if row is judged.first_bad or row.candidate is None or not row.candidate.is_finite:
                continue
            if row.tensor in finals and not row.passed and figures is not None and figures.is_constant:
                return (
                    f"; the output {row.tensor!r} is finite again but suspiciously constant: {side} holds "
                    f"{figures.low:.6g} everywhere"
                )
    return ""


def _nothing(located: Located) -> str:
    judged = located.judged
    seen = [row for row in judged.rows if not row.is_borrowed]
    outside = sum(not row.passed for row in seen)
    if judged.verdict == ILL_CONDITIONED:
        return _ill(located)
    if judged.verdict == UNDECIDED:
        return _undecided(located)
    if outside and all(row.passed or row.is_matched for row in seen) and judged.turning is None:
        return (
            f"{outside} of {counted(len(seen), 'tensor')} fail only because both sides hold NaN or infinity at the "
            "same places, as inputs and masks bring them in; to accept that: --nan equal or "
            "--infinities-compare-equal"
        )
    if judged.verdict == WITHIN_ROUNDING:
        if judged.turning is not None:
            return f"{WITHIN_ROUNDING}: no operator is wrong; {_turned(judged.turning)}"
        summed = worst_steps(located)
        if summed:
            return f"{WITHIN_ROUNDING}: {summed}{_overflow(located)}"
        some = f"{outside} of {counted(len(seen), 'tensor')} exceed" if outside else "the outputs exceed"
        coarser = f" to {located.precision}," if located.precision else ""
        return (
            f"{WITHIN_ROUNDING}: {some} the tolerance, by no more than rounding{coarser} explains{_overflow(located)}"
        )
    tensors = counted(len(seen), "tensor")
    if outside:
        return f"the outputs agree within tolerance, although {outside} of {tensors} inside the model do not"
    return f"all {tensors if seen else 'outputs'} agree within tolerance"


def _overflow(located: Located) -> str:
    """Name the tensors that a type cannot hold, although nothing after them suffers from it here."""
    rows = _overflows(located.judged.rows)
    if not rows:
        return ""
    first, tensors = rows[0], listed([row.tensor for row in rows], 1)
    magnitude = first.reference.scale if first.reference is not None else 0.0
    return (
        f"; but {first.type.partition('[')[0]} cannot hold {tensors}, the output of {first.node.label}, "
        f"which reaches {magnitude:.3g} in {located.reference}: a backend that keeps it in that type overflows"
    )


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
    stats = row.stats
    some = f"{stats.failed} of {stats.count} elements" if stats is not None and stats.count else "elements"
    by = "one step" if row.in_steps and row.max_abs <= 1.0 else f"up to {row.max_abs:.3g}"
    return (
        f"in {row.tensor!r}, the output of {row.node.label}, {some} are off by {by}, {kind}, and the outputs differ "
        "from there on"
    )


def _ill(located: Located) -> str:
    row = located.judged.turning
    if row is None:
        return ILL_CONDITIONED
    if row.truth is not None and all(map(math.isfinite, row.truth)) and row.truth[1] > worth_running(row.unit):
        of_candidate, of_reference = row.truth
        return (
            f"{ILL_CONDITIONED}: in {row.tensor!r} the reference is off from float64 by {of_reference:.2g} relative, "
            f"the candidate by {of_candidate:.2g}; {row.node.label} loses the digits, and no backend is to blame"
        )
    growth = f"{row.jump:.3g} times" if math.isfinite(row.jump) and row.jump > 1 else "from its inputs"
    return (
        f"{ILL_CONDITIONED}: {row.node.label} is right by itself, but amplifies rounding {growth} in {row.tensor!r}; "
        "no backend is to blame"
    )


def _undecided(located: Located) -> str:
    row, probe = located.judged.turning, located.judged.seen_probe
    error = f"{probe.error:.2g} relative" if probe is not None else "more than rounding explains"
    if row is None and probe is not None and not probe.trusted:
        differ = f"are off by {error}, or" if math.isfinite(probe.error) else "differ, and are off"
        return (
            f"{UNDECIDED}: the outputs {differ} by {probe.probed_error:.2g} when looking inside the model, where "
            "every operator in question is right by itself; what the backend does otherwise cannot be seen"
        )
    if row is None:
        summed = worst_steps(located)
        if summed:
            return f"{UNDECIDED}: {summed}"
        return (
            f"{UNDECIDED}: the outputs are off by {error}, which is too much to tell rounding from a fault with "
            "these inputs; no tensor inside the model is off by more than rounding explains"
        )
    why = "was not run alone, to save time" if row.was_postponed else "could not be judged alone"
    return (
        f"{UNDECIDED}: the outputs are off by {error}; {row.tensor!r} is the first tensor off by more than rounding "
        f"explains, but {row.node.label}, which computes it, {why}"
    )


def notes_of(located: Located) -> list[str]:
    """Return further remarks for the reader."""
    pairs = pairing_notes(located.pairing, located.candidate, located.reference)
    return [*pairs, *_absorbed(located), *_harmless(located), *_float64(located)]


def _absorbed(located: Located) -> Iterator[str]:
    judged = located.judged
    for row, readers in judged.absorbed[:_SHOWN]:
        what = _beyond(row, located)
        yield (
            f"{what} in {row.tensor!r}, the output of {row.node.label}, is absorbed by {_some(readers)}: nothing "
            "after it is off by more than rounding explains"
        )
    if len(judged.absorbed) > _SHOWN:
        yield (
            f"infinities or saturated values in {counted(len(judged.absorbed) - _SHOWN, 'more tensor')} are absorbed "
            "as well"
        )


def _beyond(row: Row, located: Located) -> str:
    for side, figures in ((located.candidate, row.candidate), (located.reference, row.reference)):
        if figures is not None and not figures.is_finite:
            return f"{'NaN' if figures.nan else 'Inf'} of {side}"
    of_candidate, of_reference = row.candidate, row.reference
    magnitudes = (
        f" ({of_candidate.scale:.3g} instead of {of_reference.scale:.3g})"
        if of_candidate is not None and of_reference is not None
        else ""
    )
    return f"a saturated value{magnitudes}"


def _some(readers: Sequence[GraphNode]) -> str:
    names = list(dict.fromkeys(node.label for node in readers))
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return " and ".join(names[:_SHOWN]) + more if names else "no operator, since it is not read"


def _harmless(located: Located) -> Iterator[str]:
    judged = located.judged
    passed = all(item.passed for item in judged.finals)
    but = "but the outputs do not show it" if passed else "which does not explain the outputs alone"
    for row in judged.harmless[:_SHOWN]:
        error = row.standalone.relative if row.standalone is not None else row.relative
        yield f"{row.node.label} by itself is off by {error:.2g} relative in {row.tensor!r}, {but}"
    if len(judged.harmless) > _SHOWN:
        yield (
            f"so {'is' if len(judged.harmless) - _SHOWN == 1 else 'are'} "
            f"{counted(len(judged.harmless) - _SHOWN, 'more operator')}"
        )


def _float64(located: Located) -> Iterator[str]:
    """Yield the judgement of float64 on the outputs, where it differs from both sides."""
    judged = located.judged
    finals = {item.output: item.passed for item in judged.finals}
    for row in judged.rows:
        if row.tensor not in finals or row.truth is None:
            continue
        if not finals[row.tensor] and sides_with_candidate(row):
            yield (
                f"float64 sides with the candidate: in the output {row.tensor!r}, {located.reference} is the one that "
                "is off"
            )
            return
        if finals[row.tensor] and loses_digits(row):
            yield (
                f"in float64 the output {row.tensor!r} is {row.truth[1]:.2g} relative away from what both sides "
                "agree on: the model loses digits in this type"
            )
            return


def explanation(located: Located) -> list[str]:
    """Return the figures behind the sentence, one line each."""
    judged = located.judged
    row = judged.first_bad or judged.turning
    if row is None:
        return []
    coarser = f" or of {located.precision}" if located.precision else ""
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
    standalone = row.standalone
    if standalone is None:
        return
    error = f"{standalone.max_abs:.3g} absolute, {standalone.relative:.3g} relative"
    yield f"own error, fed with the reference's tensors: {error}"
    if standalone.floor is not None:
        yield f"noise floor of the operator ({standalone.floor_from}): {standalone.floor:.3g} relative"
    if standalone.candidate is not None and standalone.reference is not None:
        errors = f"candidate {standalone.candidate:.3g}, reference {standalone.reference:.3g} relative"
        yield f"alone, against float64: {errors}"
    if standalone.in_place is not None:
        yield f"in its place, against the reference's operator on the same tensors: {standalone.in_place:.3g} relative"
    if standalone.share:
        yield f"{standalone.share:.3g} of {standalone.count} elements differ"
