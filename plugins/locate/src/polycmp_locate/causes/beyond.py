"""A tensor that is off by more than rounding was measured to take it, while no operator is by itself.

Asked where no operator is accused. It goes through the model once more, and runs the reference's model a few times with
its tensors moved; the judge is that of `polycmp run` and `--mark-all`. Where an output alone is off, the backend runs
once without each of its optimisations, and a few times more if that is right: one that rewrites weights is neither
seen in an operator alone nor removed by probes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from polycmp.tensors import Feed, to_numpy
from polycmp_locate.causes.together import find_fused
from polycmp_locate.row_rules import is_clipped, is_right_alone, needs_explaining
from polycmp_locate.setting import Setting
from polycmp_locate.trials.whole import WholeModel
from polycmp_locate.values.judged import BEYOND, EQUAL, UNDECIDED, WITHIN_ROUNDING, WRONG, Fused, Judged
from polycmp_locate.values.measured import Row
from polycmp_locate.values.swept import SweptWindow


@dataclass(frozen=True)
class Beyond:
    """A tensor that is off by more than rounding was measured to take it.

    Attributes:
        row: The tensor.
        why: The part of the error that rounding does not explain, in words.
        is_output: Whether it is an output of the model.
    """

    row: Row
    why: str
    is_output: bool = False

    def sentence(self, judged: Judged, candidate: str, reference: str) -> str:
        """Return the verdict as a sentence."""
        del reference
        tensor, node, fused = self.row.tensor, self.row.node.label, judged.fused
        if fused is not None:
            whose = f"{candidate} rewrites {fused.labels if fused.nodes else 'the model'}{fused.hangs_on}"
            what = f"{whose}, and is right where it does not; of {tensor!r}, the output of {node}: {self.why}"
            return f"{BEYOND}: no operator is wrong by itself; {what}{fused.way_round}"
        if self.is_output:
            return f"{BEYOND}: no operator is wrong by itself; of {tensor!r}, the output of {node}: {self.why}"
        return (
            f"{BEYOND}: {tensor!r}, the output of {node}, is the first tensor with a larger error than rounding was "
            f"measured to cause, although no operator by itself has one: {self.why}{judged.even_so}"
        )


def ask(judged: Judged, whole: WholeModel, windows: Iterable[SweptWindow]) -> Judged:
    """Return the verdict on the first tensor that is off by more than rounding explains; the given one if none is.

    Args:
        judged: The verdict.
        whole: The whole model.
        windows: The tensors, once more; nothing runs before the first window is asked for.
    """
    if not whole.setting.is_measured or not judged.is_whole or judged.turning is not None or judged.cause is not None:
        return judged
    if judged.verdict not in {EQUAL, WITHIN_ROUNDING, UNDECIDED}:
        return judged
    network = whole.setting.network
    equalised = network is not None and network.equalised and not whole.beyond
    # What was seen inside may be another computation; of the outputs as they are that says nothing.
    untrusted = judged.verdict == UNDECIDED and judged.probe is not None and not judged.probe.trusted
    inside = [] if equalised or untrusted else list(_inside_beyond(judged, whole.setting, whole.feed, windows))
    # Where errors come together, operators are right by themselves: an output that shows them says more.
    unexplained = (item for item in inside if not is_right_alone(item.row))
    beyond = next(unexplained, None) or _output_beyond(judged) or next(iter(inside), None)
    if beyond is None:
        return judged
    if is_clipped(beyond.row):
        harmless = tuple(row for row in judged.harmless if row is not beyond.row)
        return replace(judged, verdict=WRONG, first_bad=beyond.row, origin=beyond.row, harmless=harmless)
    fused = _rewritten(whole) if beyond.is_output else None
    return replace(judged, verdict=BEYOND, cause=beyond, fused=fused)


def _rewritten(whole: WholeModel) -> Fused | None:
    """Return what the candidate rewrites, without which its outputs are right; None if nothing like that is known."""
    return find_fused(whole.setting.candidate, (), whole.is_right_on(whole.setting.candidate)) if whole.beyond else None


def _output_beyond(judged: Judged) -> Beyond | None:
    """Return the first output that is off by more than rounding explains."""
    rows = {row.tensor: row for row in judged.rows if not row.is_matched}
    off = next((item for item in judged.finals if item.verdict == "failed" and item.output in rows), None)
    return None if off is None else Beyond(rows[off.output], off.reason, is_output=True)


def _inside_beyond(judged: Judged, setting: Setting, feed: Feed, windows: Iterable[SweptWindow]) -> Iterator[Beyond]:
    """Yield the tensors inside the model that are off by more than rounding explains.

    They end with the first whose operator was not measured by itself, or is not right.
    """
    rounding, outputs = setting.inner_rounding, {item.output for item in judged.finals}  # those are judged already
    harmless = {row.tensor for row, _ in judged.absorbed}
    rows = {
        row.tensor: row
        for row in judged.rows
        if row.unit and needs_explaining(row) and row.tensor not in outputs | harmless
    }
    for window in windows if rows and rounding is not None else ():
        names = [name for name in window.rows if name in rows]
        if not names or rounding is None:
            continue
        compare = rounding(feed, names)
        for name in names:
            verdict = compare(to_numpy(window.candidate[name]), to_numpy(window.reference[name]), output=name)
            if not verdict.passed and not verdict.inconclusive:
                yield Beyond(rows[name], verdict.reason)
                if not is_right_alone(rows[name]):
                    return
