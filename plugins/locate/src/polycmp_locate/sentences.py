"""The sentences of `locate`, `--rank`, `debug reduce` and `debug precision`, in one place to edit.

Functions take plain values and decide nothing; `report/`, `precision/` and `reduce/` decide what to say. The words that
all commands share are in `polycmp.sentences`. Clauses that begin with a comma, a colon or a semicolon are parts of one
sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from polycmp.sentences import counted

#: Operators of a group that are named; of more the first few and the last are.
_LISTED = 8

# --- two files are told apart without a run


def other_network(difference: str, more: int) -> str:
    """Name the first difference between two files that no tool makes on purpose, and count the rest."""
    return f"{difference}, and {counted(more, 'more difference')}" if more else difference


def trained_again(differ: int, constants: int) -> str:
    """Count the constants of two files that hold other weights."""
    return f"{differ} of {constants} constants differ: the files hold other weights, as after training again"


def rescaled(number: int) -> str:
    """Count the constants of which slices were rescaled."""
    return (
        f"slices of {counted(number, 'constant')} are multiplied by factors of their own, as equalisation and "
        "smoothing do; the outputs say whether the operators around undo that"
    )


# --- an operator is to blame


def computes(strength: str, node: str, tensor: str) -> str:
    """Name the operator that computes a tensor wrongly."""
    return f"{strength}: {node} computes {tensor!r}"


def constant(side: str, value: str, tensor: str, node: str) -> str:
    """Name a tensor that holds one number."""
    return f"{side} holds {value} everywhere in {tensor!r}, the output of {node}"


def narrowed(node: str, tensor: str, kind: str, usual: str) -> str:
    """Name an operator that computes in a coarser type than the others."""
    return f"{node} computes {tensor!r} through {kind}, while the rest of the model uses {usual}"


def not_finite(node: str, kind: str, sides: str, *, from_finite: bool) -> str:
    """Name the operator where NaN or infinity begins."""
    return f"{node} produces {kind} in {sides}{' from finite inputs' if from_finite else ''}"


def infinite_weight(reference: str, in_steps: bool) -> str:
    """Trace the infinity to a weight; add the remedy where a scale cannot cover it."""
    cure = "; no scale covers an infinite number: keep that weight in float" if in_steps else ""
    return f", where a weight of {reference} holds Inf{cure}"


def still_constant(tensor: str, side: str, value: str) -> str:
    """Name a constant output after the NaN or infinity."""
    return f"; the output {tensor!r} is finite again but suspiciously constant: {side} holds {value} everywhere"


def relative_error(error: float) -> str:
    """Give the size of an error."""
    return f" with a relative error of {error:.2g}"


def common_factor(share: float) -> str:
    """Give the part of an error that is one factor for a whole row."""
    return f", of which {share:.2g} is a factor common to a whole row, which is not rounding"


def of_which_explained(limit: float) -> str:
    """Give the part of an error that rounding explains."""
    return f", of which rounding explains {limit:.2g}"


def as_if_in(kind: str) -> str:
    """Name the type that an error looks like."""
    return f", as if computed in {kind}"


def drowned(reach: str, lost: float) -> str:
    """Explain a scale whose mask values leave nothing of the other numbers."""
    return (
        f": its scale must cover {reach}, values that only mask, and rounds everything else, up to {lost:.3g}, away: "
        "keep it in float, or calibrate and run with a mask of smaller numbers"
    )


def clipped(scale: tuple[float, float], held: tuple[float, float], share: float) -> str:
    """Compare the range of a scale with the values of the tensor, some of which it clips."""
    return (
        f": its scale covers {scale[0]:.4g} to {scale[1]:.4g}, but the reference's numbers reach from {held[0]:.4g} to "
        f"{held[1]:.4g}, so {share:.2g} of the elements are clipped"
    )


def scaled(factor: float, kind: str) -> str:
    """Give the factor of a wrong scale."""
    return f", with numbers {factor:.4g} times the reference's: a wrong scale, not rounding to {kind}"


def shifted(share: float, kind: str) -> str:
    """Give the shift of a wrong bias or zero point."""
    return (
        f", with all numbers of a channel off by {share:.2g} of the largest on average: "
        f"a wrong bias or zero point, not rounding to {kind}"
    )


def noisy(rms: float, limit: float, kind: str) -> str:
    """Give the size of errors that are larger on average than rounding to steps makes them."""
    return (
        f", with errors of {rms:.2g} of the largest number on average (root mean square), and rounding to {kind} was "
        f"measured to explain {limit:.2g}"
    )


def beyond_steps(share: float, kind: str) -> str:
    """Give the share of elements that rounding to steps does not explain."""
    return f" with {share:.2g} of the elements off by more than rounding to {kind} explains (to see why: --rank)"


OUTPUTS_AGREE: Final = "; even so, the outputs are within tolerance"
ALONE_WRONG: Final = "; run alone on the reference's tensors, it is wrong as well"
NOT_ALONE: Final = "; it could not be run alone, but its inputs are right"
ALONE_RIGHT: Final = (
    "; run alone, it is right, but its inputs cannot be seen, so the operators before it could not be run alone"
)


def grows(operator: str, tensor: str) -> str:
    """Name the operator whose result shows an error first that comes from further up."""
    return f"; its error is within the tolerance there and first outside it in {tensor!r}, which {operator} computes"


def reference_off(reference: str, of_reference: float, candidate: str, of_candidate: float) -> str:
    """Compare both sides with float64, where the reference is the one that is off."""
    return (
        f"; run alone, it is {reference} that is off from float64, by {of_reference:.2g}; {candidate} is off by "
        f"{of_candidate:.2g}"
    )


def wrong_in_place(candidate: str) -> str:
    """Blame the candidate for an operator that is wrong in the model only."""
    return (
        f"; run alone on the reference's tensors, it is right, but inside the model {candidate} computes "
        "something else from the same inputs"
    )


def computed_with(candidate: str, mine: str, reference: str, others: str) -> str:
    """Name the operators of two models that compute one tensor."""
    return f"; {candidate} computes it with {mine}, {reference} with {others}"


def leaves_out(candidate: str, operators: str, reference: str) -> str:
    """Name the operators that one model lacks."""
    return f"; {candidate} leaves out {operators} of {reference}"


def one_of(operators: Sequence[str], tensor: str, how: str) -> str:
    """Name several operators, one of which is wrong, with nothing between them to compare.

    Args:
        operators: The operators.
        tensor: The tensor that they end with.
        how: The error of that tensor, in words.
    """
    names = _all_of(operators)
    return f"one of {names}, which compute {tensor!r}{how}; nothing between them has a counterpart to compare with"


def in_source(place: str) -> str:
    """Name the place in the source of the model."""
    return f"; in the model's source: {place}"


# --- nothing is to blame


def all_agree(tensors: int) -> str:
    """Count the tensors, all of them within the tolerance."""
    if not tensors:
        return "all outputs agree within tolerance"
    return f"all {counted(tensors, 'tensor')} agree within tolerance"


def outputs_agree_though(outside: int, tensors: int) -> str:
    """Count the tensors that differ although the outputs agree."""
    return (
        f"the outputs agree within tolerance, although {outside} of {counted(tensors, 'tensor')} inside the "
        "model do not"
    )


def alike_not_finite(outside: int, tensors: int) -> str:
    """Excuse NaN and infinity that both sides hold at the same places."""
    return (
        f"{outside} of {counted(tensors, 'tensor')} fail only because both sides hold NaN or infinity at "
        "the same places, as inputs and masks bring them in; to accept that: --nan equal or --infinities-compare-equal"
    )


def explained(outside: int, tensors: int, precision: str) -> str:
    """Count the tensors outside the tolerance, all of them explained by rounding.

    Args:
        outside: Tensors that exceed the tolerance.
        tensors: All tensors that were looked at; 0 if only outputs were.
        precision: The type that is rounded to, where that is not the model's.
    """
    some = f"{outside} of {counted(tensors, 'tensor')} exceed" if tensors and outside else "the outputs exceed"
    return f"{some} the tolerance, by no more than rounding{f' to {precision},' if precision else ''} explains"


def no_operator_wrong(how: str) -> str:
    """Acquit all operators where rounding turned a decision."""
    return f"no operator is wrong; {how}"


def turned(tensor: str, node: str, some: str, by: str, kind: str) -> str:
    """Explain a decision that rounding turned, and that the outputs show.

    Args:
        tensor: The tensor.
        node: Its operator.
        some: Its elements that differ, in words.
        by: By how much, in words.
        kind: What was decided, in words.
    """
    return f"in {tensor!r}, the output of {node}, {some} are off by {by}, {kind}, and the outputs differ from there on"


def cannot_hold(kind: str, tensor: str, more: str, held: float, reference: str, node: str) -> str:
    """Name a tensor too large for a type, although nothing suffers from it here."""
    return (
        f"; but {kind} cannot hold {tensor!r}{more}, the output of {node}, which reaches {held:.3g} in {reference}: a "
        "backend that keeps it in that type overflows"
    )


def loses_digits(tensor: str, of_reference: float, of_candidate: float, node: str) -> str:
    """Name the operator that loses digits in an ill-conditioned model, as float64 shows."""
    return (
        f"in {tensor!r} the reference is off from float64 by {of_reference:.2g} relative, the candidate by "
        f"{of_candidate:.2g}; {node} loses the digits, and no backend is to blame"
    )


def amplifies_rounding(node: str, growth: str, tensor: str) -> str:
    """Name the operator that amplifies rounding in an ill-conditioned model."""
    return f"{node} is right by itself, but amplifies rounding {growth} in {tensor!r}; no backend is to blame"


# --- undecided


def not_as_probed(error: str, probed: float) -> str:
    """Compare the errors without and with probes, which remove the fault."""
    return (
        f"the outputs are off by {error}, or by {probed:.2g} when looking inside the model, where every operator in "
        "question is right by itself; what the backend does otherwise cannot be seen"
    )


def too_far(error: str) -> str:
    """Give an error too large to tell rounding from a fault."""
    return (
        f"the outputs are off by {error}, which is too much to tell rounding from a fault with these inputs; no tensor "
        "inside the model is off by more than rounding explains"
    )


def not_judged(error: str, tensor: str, node: str, why: str) -> str:
    """Name the operator in question, and the reason why it was not judged."""
    return (
        f"the outputs are off by {error}; {tensor!r} is the first tensor off by more than rounding explains, but "
        f"{node}, which computes it, {why}"
    )


POSTPONED: Final = "was not run alone, to save time"
UNJUDGEABLE: Final = "could not be judged alone"


def summed_steps(tensors: int, kind: str, parts: int, error: float) -> str:
    """Add up the roundings to steps of many parts."""
    return (
        f"none of {counted(tensors, 'tensor')} is off by more than rounding to {kind} explains; "
        f"{counted(parts, 'part')} of the model round to it, which together puts the outputs off by "
        f"{error:.2g} relative"
    )


TOO_FAR_TO_TELL: Final = ", too much to tell rounding from a fault with these inputs"
WHICH_IN_FLOAT: Final = "; to see which of them to keep in float: --rank"


def worst_alone(node: str, error: float, tensor: str) -> str:
    """Name the part that adds most."""
    return f", most of all {node} with {error:.2g} in {tensor!r}"


# --- --rank, --save-mixed, debug precision, debug reduce


def cannot_run(candidate: str, what: str, error: str) -> str:
    """Give the error of a model that does not run."""
    return f"{candidate} cannot run the {what}: {error}"


def passes_as_is(candidate: str) -> str:
    """Accept the smaller model as it is."""
    return f"{candidate} meets the tolerance as it is"


def no_mixed_model(runs: int, best: str) -> str:
    """Give the best of the mixed models, none of which passes."""
    return f"no mixed model meets the tolerance, after {counted(runs, 'run')} of a whole model; {best}"


def keep_in_float(kept: int, layers: int, names: str, runs: int, *, fewest: bool) -> str:
    """Name the layers to keep in float."""
    how = f"found in {counted(runs, 'run')} of a whole model"
    how = how if fewest else f"stopped after {counted(runs, 'run')}; a smaller set may exist (--max-runs)"
    return f"keep {kept} of {counted(layers, 'layer')} in float to meet the tolerance: {names}; {how}"


def not_repaired(candidate: str) -> str:
    """Name a model that no layer of the source repairs."""
    return f"no change was found that brings {candidate} within tolerance; nothing was written"


def repaired(candidate: str, changes: int, before: str, after: str) -> str:
    """Count the layers of the source that repair a model."""
    bring = f"{counted(changes, 'change')} from the source bring{'s' if changes == 1 else ''}"
    return f"{bring} {candidate} within tolerance: {before} before, {after} after"


def no_layers(candidate: str) -> str:
    """Name a model without layers to rank."""
    return f"{candidate} does not meet the tolerance, and has no layer in a smaller type"


def ruined(layer: str, reason: str, others: int) -> str:
    """Name the layer that the smaller type ruins."""
    return f"{layer} is ruined: {reason}" + (
        f"; {others} more {'is' if others == 1 else 'are'} ruined, too" * bool(others)
    )


def brings_most(layer: str, share: float, layers: int, reason: str) -> str:
    """Name the layer that adds most to the error."""
    return f"{layer} causes {share:.0%} of the error, the most of {counted(layers, 'layer')}{reason and ': '}{reason}"


def check_passes(kept: int | None, operators: int, steps: int) -> str:
    """Count the operators to keep in float32 for a check to pass.

    Args:
        kept: Operators in float32; None if the check fails with all of them.
        operators: All operators.
        steps: Steps of the search.
    """
    if kept is None:
        found = "the check fails even with all operators in float32"
    elif not kept:
        found = "the check passes with all operators in float16"
    else:
        found = f"the check passes with {kept} of {counted(operators, 'operator')} in float32"
    return f"{found}, after {counted(steps, 'step')}"


def still_fails(label: str, size: int, operators: int, steps: int, *, stopped: bool) -> str:
    """Name the smallest part that fails.

    Args:
        label: The operator, if it is one.
        size: Its operators.
        operators: Those of the whole model.
        steps: Steps of the search.
        stopped: Whether the search was ended early.
    """
    part = f"{size} of {counted(operators, 'operator')}"
    what = f"{part} still fail" if size > 1 else f"{label} alone still fails, {part}"
    return f"{'stopped; so far ' if stopped else ''}{what}, after {counted(steps, 'step')}"


NOTHING_TO_REDUCE: Final = "the whole model passes, so there is nothing to reduce"
WHOLE_UNANSWERED: Final = {
    "blind": "nothing could have differed in the whole model, so it is not known whether it fails",
    "undecided": "whether the whole model fails could not be decided",
}
ONLY_WHOLE: Final = "the model fails, yet not when all of it is cut out of its file, so no part can be smaller"


# --- causes that are none of a single operator


def with_nothing_between(operators: Sequence[str]) -> str:
    """Name operators that are run as one, since nothing between them has a counterpart."""
    return f"{_all_of(operators)} (nothing between them has a counterpart)"


def _all_of(operators: Sequence[str]) -> str:
    """Name several operators, of many those at both ends."""
    if len(operators) > _LISTED:
        operators = [*operators[: _LISTED // 2], f"{len(operators) - _LISTED // 2 - 1} more", operators[-1]]
    return f"{', '.join(operators[:-1])} and {operators[-1]}"


def reads_otherwise(candidate: str, mine: str, reference: str, others: str, *, may_be_frozen: bool) -> str:
    """Compare the inputs that two models read for one tensor.

    Args:
        candidate: Label of the candidate.
        mine: What only the candidate reads; empty for nothing.
        reference: Label of the reference.
        others: What only the reference reads.
        may_be_frozen: Whether an export may have put a constant in its place.
    """
    if mine:
        return f"; it reads {mine} in {candidate}, {others} in {reference}"
    guess = ": was it frozen to the example inputs of the export?" if may_be_frozen else ""
    return f"; {reference} reads {others} for it and {candidate} does not{guess}"


# --- notes


def absorbed(what: str, tensor: str, node: str, readers: str) -> str:
    """Name the operators that absorb a bad value."""
    return (
        f"{what} in {tensor!r}, the output of {node}, is absorbed by {readers}: nothing after it is off by more than "
        "rounding explains"
    )


def more_absorbed(number: int) -> str:
    """Count further tensors whose bad values are absorbed."""
    return f"infinities or saturated values in {counted(number, 'more tensor')} are absorbed as well"


def harmless(node: str, error: float, tensor: str) -> str:
    """Give the error of an operator that does not reach the outputs."""
    return f"{node} by itself is off by {error:.2g} relative in {tensor!r}, but the outputs do not show it"


def more_harmless(number: int) -> str:
    """Count further operators whose errors do not reach the outputs."""
    return f"so {'is' if number == 1 else 'are'} {counted(number, 'more operator')}"


def sides_with_candidate(tensor: str, reference: str) -> str:
    """Side with the candidate, as float64 does."""
    return f"float64 sides with the candidate: in the output {tensor!r}, {reference} is the one that is off"


def digits_lost(tensor: str, error: float) -> str:
    """Give the distance of both sides from float64."""
    return (
        f"in float64 the output {tensor!r} is {error:.2g} relative away from what both sides agree on: the model loses "
        "digits in this type"
    )
