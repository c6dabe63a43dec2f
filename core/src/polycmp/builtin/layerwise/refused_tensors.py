"""Tensors that a backend refuses to show, although it runs the model: finding them, and telling the user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polycmp.builtin.judging.structure import final_outputs, static_tensors
from polycmp.builtin.layerwise.attempt import Attempt, restrict
from polycmp.builtin.layerwise.observable import MOST_ATTEMPTS, MOST_BUILDS, a_few, largest_working, real_numbers
from polycmp.builtin.layerwise.partition import Segment
from polycmp.builtin.layerwise.piecewise import PiecewiseRunner
from polycmp.builtin.layerwise.segment_runner import SegmentRunner
from polycmp.sentences import counted

_HIDDEN = "does not show"
_SHAPES_ALONE = "shapes alone decide them"


class RefusedTensors:
    """Finds out which tensors a backend shows where it refuses to show all of them.

    A backend may run a model and still refuse some tensors inside it as outputs: TensorRT some of those that it
    computes shapes with, for example, and others where it fuses much in a narrow type.

    Attributes:
        pieces: Segments that run in pieces.
    """

    def __init__(self, run: SegmentRunner) -> None:
        self._run = run
        self._why = ""
        self.pieces: PiecewiseRunner = PiecewiseRunner(run)

    def spare(self, segment: Segment) -> None:
        """Leave out the tensors that shapes alone decide, where the backend compiles."""
        spared = self.pieces.spared(segment) - self._run.hidden if self._run.compiles else set()
        if spared:
            self._run.hidden |= spared
            self._why = self._why or _SHAPES_ALONE

    def retry(self, failed: Attempt, *, keep: bool, whole: bool) -> tuple[dict[str, Any] | None, Attempt | None]:
        """Run a segment that failed with fewer tensors, or in pieces.

        A model that may calculate in a narrower type is refused for what is fused with what, more than for single
        tensors: it is not tried again as a whole.

        Args:
            failed: The attempt that failed.
            keep: Whether another iteration will want the same sessions again.
            whole: Whether the segment is all of the model.

        Returns:
            The wanted tensors of a segment that ran in pieces, else what came of the best attempt.
        """
        segment = failed.segment
        if not self._run.compiles or not segment.wanted or segment.stop - segment.start < 2:
            return None, self._with_less(failed, whole)
        if not self._run.result.precision:
            fewer = self._without_whole_numbers(failed, whole)
            if fewer is not None:
                return None, fewer
        tensors = self.pieces.find(segment, keep=keep)
        if tensors is None:
            return None, self._with_less(failed, whole)
        self._say(failed)
        return tensors, None

    def _without_whole_numbers(self, failed: Attempt, whole: bool) -> Attempt | None:
        """Run a segment without its boolean and whole-number outputs; None if that fails, too."""
        segment = failed.segment
        idle = self._idle(segment)
        real = set(real_numbers(idle, self._run.types()))
        if real == set(idle):
            return None
        names = [name for name in segment.outputs if name in real or name not in idle]
        attempt = self._run.attempt(restrict(segment, names), whole=whole)
        if attempt.outputs is None:
            return None
        self._run.hidden.update(set(idle) - real)
        self._say(failed)
        return attempt

    def _idle(self, segment: Segment) -> list[str]:
        """Return the wanted tensors of a segment that nothing else needs."""
        idle = (set(segment.last_use) | static_tensors(self._run.graph)) - set(final_outputs(self._run.graph))
        return [name for name in segment.wanted if name in idle]

    def _with_less(self, failed: Attempt, whole: bool) -> Attempt:
        """Run a segment without the tensors that cannot be shown; return what failed if it cannot run at all."""
        segment = failed.segment
        asked = self._idle(segment)
        real = real_numbers(asked, self._run.types()) if asked else []
        best = [failed]

        def works(names: Sequence[str]) -> bool:
            attempt = self._run.attempt(restrict(segment, names), whole=whole)
            if attempt.outputs is None:
                return False
            best.pop().live.deactivate()
            best.append(attempt)
            return True

        needed = [name for name in segment.outputs if name not in asked]
        most = MOST_BUILDS if self._run.compiles else MOST_ATTEMPTS
        unlikely = [name for name in asked if name not in real]
        shown = largest_working(works, needed, real, unlikely, most) if asked else None
        if shown is None:
            return failed
        self._run.hidden.update(set(asked) - set(shown))
        self._say(failed)
        return best[0] if shown else failed._replace(segment=restrict(segment, ()))

    def _say(self, failed: Attempt) -> None:
        if self._why in {"", _SHAPES_ALONE}:
            self._why = failed.live.result.error

    def note(self) -> None:
        """Add one note on how much was not compared."""
        if self._run.hidden and not any(note.startswith(_HIDDEN) for note in self._run.result.notes):
            count = counted(len(self._run.hidden), "tensor")
            some = a_few(sorted(self._run.hidden))
            self._run.result.notes.append(f"{_HIDDEN} {count} inside the model, not compared: {some} ({self._why})")
