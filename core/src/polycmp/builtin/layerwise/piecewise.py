"""Running a segment in pieces where a backend that compiles refuses it as a whole."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from polycmp.builtin.judging.structure import final_outputs
from polycmp.builtin.layerwise.attempt import restrict
from polycmp.builtin.layerwise.observable import real_numbers
from polycmp.builtin.layerwise.partition import GraphCuts, Segment, crossing
from polycmp.builtin.layerwise.pieces import Piece, run_in_pieces, shape_tensors
from polycmp.builtin.layerwise.segment_runner import SegmentRunner

#: How many times over the search for pieces may make the operators of a segment, successes included; by count and not
#: by time, so that a busy machine shows the same. Where the whole model was made before, and all of its tensors were
#: tried, that is a third time; where nothing was, small models should be divided as far as it takes.
_AFTER_WHOLE, _ALONE = 1, 4
#: A model that may calculate in a narrower type is refused for what is fused with what. Pieces below this share of it
#: are not divided: of MiniLM's 356 operators in float16, TensorRT 8.6 took 3 s for one of 15 without its inner tensors,
#: and 57 and 105 s for two of 7 with them, where the whole model took 35 s (H200). A build cannot be interrupted.
_FUSED = 16


class PiecewiseRunner:
    """Runs segments in pieces, found once and then kept.

    Args:
        run: The backend.
    """

    def __init__(self, run: SegmentRunner) -> None:
        self._run = run
        self._known: dict[tuple[int, int], list[Piece]] = {}

    @cached_property
    def _shapes(self) -> dict[str, frozenset[str] | None]:
        return shape_tensors(self._run.graph)

    def spared(self, segment: Segment) -> set[str]:
        """Return whole numbers of a segment that shapes alone decide: a compiler has them before it runs.

        Args:
            segment: The segment; tensors that are read after it are not spared.
        """
        idle = set(segment.last_use) - set(final_outputs(self._run.graph))
        spare = idle.intersection(self._shapes, segment.wanted)
        return spare - set(real_numbers(spare, self._run.types())) if spare else set()

    def find(self, segment: Segment, *, keep: bool) -> dict[str, Any] | None:
        """Run a segment in pieces as large as the backend takes; return what is wanted of it.

        Args:
            segment: The segment that failed as a whole.
            keep: Whether another iteration will want the same sessions again.

        Returns:
            The tensors that are shown, None if no division of the segment works.
        """
        run, layout, done, tensors = self._run, self._layout(segment), list[Piece](), dict[str, Any]()
        before = run.tensors
        run.tensors = {**run.given, **before}

        def works(piece: Piece) -> bool:
            shown = self._show(layout, piece, keep=keep)
            if shown is not None:
                tensors.update(shown)
                done.append(piece)
            return shown is not None

        smallest = max(1, (segment.stop - segment.start) // _FUSED) if run.result.precision else 1
        cuts = self._cuts(layout, segment)
        most = (_AFTER_WHOLE if run.has_run_whole else _ALONE) * (segment.stop - segment.start)
        if not run_in_pieces(works, segment.start, segment.stop, cuts, most, smallest):
            run.tensors = before
            run.forget(piece.start for piece in done)
            return None
        run.hidden |= set(segment.wanted) - set(tensors)
        self._known[segment.start, segment.stop] = done
        return self._end(segment, before, tensors)

    def again(self, segment: Segment, *, keep: bool) -> dict[str, Any] | None:
        """Run a segment in the pieces that worked before; return what is wanted of it.

        Args:
            segment: The segment to run.
            keep: Whether another iteration will want the same sessions again.

        Returns:
            The tensors that are shown, None if it never ran in pieces, or if one of them fails now.
        """
        pieces = self._known.get((segment.start, segment.stop))
        if pieces is None:
            return None
        run, layout, tensors = self._run, self._layout(segment), dict[str, Any]()
        before = run.tensors
        run.tensors = {**run.given, **before}
        for piece in pieces:
            shown = self._show(layout, piece, keep=keep)
            if shown is None:
                del self._known[segment.start, segment.stop]
                run.tensors = before
                return None
            tensors.update(shown)
        return self._end(segment, before, tensors)

    def _layout(self, segment: Segment) -> GraphCuts:
        later = set(segment.outputs) - set(segment.last_use)
        again = {name: sources for name, sources in self._shapes.items() if sources is not None and name not in later}
        return GraphCuts(self._run.graph, segment.wanted, self._run.types(), again)

    def _cuts(self, layout: GraphCuts, segment: Segment) -> Callable[[int], int | None]:
        """Return the function that finds where to cut: where real numbers alone cross, if there are such places.

        Sizes that a compiler works out are not what it likes to give out, and to be fed with.
        """
        types, counts, clean = self._run.types(), dict[int, int](), dict[int, int]()
        for position in filter(layout.can_cut, range(segment.start + 1, segment.stop)):
            computed = [name for name in crossing(layout, position) if name in layout.maker]
            counts[position] = len(computed)
            if len(real_numbers(computed, types)) == len(computed):
                clean[position] = len(computed)
        return clean.get if clean else counts.get

    def _show(self, layout: GraphCuts, piece: Piece, *, keep: bool) -> dict[str, Any] | None:
        part, run = layout.segment(piece.start, piece.stop), self._run
        needed = set(part.outputs) - set(part.last_use) | set(final_outputs(run.graph))
        names = needed | (set(part.outputs) - run.hidden if piece.shown else set())
        if not names.intersection(part.outputs):
            return {}
        part = restrict(part, names)
        count = piece.stop - piece.start
        run.on_stage(f"{run.label}: operators {piece.start} to {piece.stop}{run.forecast.text(count)}")
        return run.run_piece(part, keep=keep)

    def _end(self, segment: Segment, before: dict[str, Any], tensors: dict[str, Any]) -> dict[str, Any]:
        """Leave what a segment leaves that ran as a whole: what it read, and what later ones read."""
        later = set(segment.outputs) - set(segment.last_use)
        self._run.leave({**before, **{name: self._run.tensors[name] for name in later}}, segment.last_use)
        return {name: tensors[name] for name in segment.wanted if name in tensors}
