"""The verdict on a model that the candidate does not run: the operator, or the fewest together, on which it fails."""

from __future__ import annotations

from polycmp.layerwise import Windows, final_outputs
from polycmp.tensors import Feed, TensorEntry, dtype_of
from polycmp_locate.rounding.figures import figures
from polycmp_locate.setting import Setting, Stage, all_tensors
from polycmp_locate.trials.failing import find_failing, frozen_sizes
from polycmp_locate.trials.together import RunsTogether, find_together
from polycmp_locate.values.judged import FAILS, Failure, Fused, Judged
from polycmp_locate.values.measured import Row


def judge_failure(setting: Setting, feed: Feed, on_stage: Stage) -> Judged:
    """Return the verdict on a candidate that failed with the whole model, which the reference runs.

    Args:
        setting: The backends to search, and the tools for it.
        feed: The inputs.
        on_stage: Told what happens next.
    """
    candidate, reference = setting.candidate, setting.reference
    windows = Windows([reference], all_tensors(reference.graph), setting.max_memory)
    row, ran_any = find_failing(candidate, windows, feed, on_stage)
    windows.close()
    if row is None and not ran_any:
        return Judged(cause=Failure(candidate.result.error or ""))
    if row is not None:
        failure = Failure(candidate.result.error or "", frozen_sizes(row, candidate.graph))
        return Judged(rows=(row,), verdict=FAILS, first_bad=row, cause=failure)
    together = find_together(candidate, reference, feed, final_outputs(reference.graph), on_stage)
    failure = Failure(candidate.result.error or "")
    if together is None:
        return Judged(cause=failure)
    row, fused = _row(together), Fused(together.nodes, cure=together.cure)
    return Judged(rows=(row,), verdict=FAILS, first_bad=row, fused=fused, cause=failure)


def _row(together: RunsTogether) -> Row:
    """Return the row of what the last of the operators makes."""
    name, expected = next(reversed(together.outputs.items()))
    node = next(node for node in together.nodes if name in node.outputs)
    kind = str(TensorEntry(dtype_of(expected), tuple(expected.shape)))
    known = {name: value for name, array in together.inputs.items() if (value := figures(array)) is not None}
    return Row(name, node, kind, passed=False, reference=figures(expected), inputs=known)
