"""One backend that runs segments of a graph, each a model of its own, with tensors of its own."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from polycmp.builtin.layerwise.attempt import Attempt
from polycmp.builtin.layerwise.partition import Segment
from polycmp.builtin.layerwise.pieces import Forecast
from polycmp.graph import ModelGraph
from polycmp.loader import Loader
from polycmp.messages import only_errors
from polycmp.results import BackendResult
from polycmp.runner import Runner
from polycmp.runs import BackendRun
from polycmp.tensors import Feed, TensorMetadata, dtype_of

#: Makes a runner of the backend for what a loader gives in place of the model, or for the model itself; the second
#: argument tells whether that has the model's own inputs.
MakeRunner = Callable[["Loader[Any] | None", bool], Runner]


class SegmentRunner:
    """A backend that runs segments of a graph.

    What crosses from one segment to the next is this backend's own result, so errors add up as they do in the whole
    model.

    Args:
        result: The backend's result, in which failures and timings are recorded.
        graph: The model.
        make: Makes the runner of a part.
        needs: Modules whose version tells which backend this is.
        compiles: Whether making a runner takes seconds or more.

    Attributes:
        make: Makes the runner of a part.
        needs: Modules whose version tells which backend this is.
        tensors: Tensors that are computed and still needed, by name; the inputs included.
        given: The model's inputs in the last iteration.
        hidden: Tensors that this backend cannot show, although it runs the model.
        has_run_whole: Whether the whole model has been made and run.
        forecast: Estimate of the time that parts take to make and run.
        on_stage: Told in words what is built next.
    """

    def __init__(
        self, result: BackendResult, graph: ModelGraph, make: MakeRunner, needs: tuple[str, ...], *, compiles: bool
    ) -> None:
        self.result: BackendResult = result
        self.graph: ModelGraph = graph
        self.make: MakeRunner = make
        self.needs: tuple[str, ...] = needs
        self.compiles = compiles
        self.tensors: dict[str, Any] = {}
        self.given: dict[str, Any] = {}
        self.hidden: set[str] = set()
        self.has_run_whole = False
        self.forecast: Forecast = Forecast()
        self.on_stage: Callable[[str], None] = lambda _: None
        self._feed = TensorMetadata()
        self._dead: set[str] = set()
        self._kept: dict[int, BackendRun] = {}
        self._seconds = 0.0
        self._seen: dict[str, tuple[Any, tuple[int, ...]]] = {}

    @property
    def label(self) -> str:
        """The label in reports."""
        return self.result.label

    @property
    def is_well(self) -> bool:
        """Whether nothing failed so far."""
        return not self.result.error

    def attempt(self, segment: Segment, *, whole: bool) -> Attempt:
        """Run a segment on what is there; nothing is recorded.

        Args:
            segment: The segment to run.
            whole: Whether it is all of the model.
        """
        names = self.graph.inputs if whole else segment.inputs
        start = time.monotonic()
        with only_errors(unless=whole):
            live = self._session(segment, whole)
            outputs = live.infer({name: self.tensors[name] for name in names}) if live.is_active else None
        if outputs is not None:
            self.forecast.learn(segment.stop - segment.start, time.monotonic() - start)
        return Attempt(segment, live, outputs)

    def run_piece(self, segment: Segment, *, keep: bool) -> dict[str, Any] | None:
        """Run a piece of a segment on what is there; return what is wanted of it, which outlives the next one.

        Args:
            segment: The segment to run.
            keep: Whether another iteration will want the same session again.

        Returns:
            The wanted tensors, None if it failed.
        """
        _, live, outputs = self.attempt(segment, whole=False)
        if outputs is None or any(name not in outputs for name in segment.outputs):
            live.deactivate()
            return None
        self._carry(segment, outputs, live)
        tensors = {name: self.tensors.get(name, lasting(live, outputs[name])) for name in segment.wanted}
        for name in self._dead.difference(self.given):
            self.tensors.pop(name, None)
        if keep:
            self._kept[segment.start] = live
        else:
            live.deactivate()
            self._note(live)
        return tensors

    def forget(self, starts: Iterable[int]) -> None:
        """Let the sessions go that are kept for segments with these beginnings."""
        for live in filter(None, [self._kept.pop(start, None) for start in starts]):
            live.deactivate()

    def leave(self, tensors: dict[str, Any], dead: Iterable[str]) -> None:
        """End a segment that ran in pieces.

        Args:
            tensors: All tensors that are available now, by name.
            dead: Those of them that the next segment no longer needs.
        """
        self.tensors, self._dead = tensors, set(dead)

    def types(self) -> TensorMetadata:
        """Return types and shapes of tensors for the inputs of this iteration, as far as the model tells them."""
        return self.graph.types(self._feed)

    def _session(self, segment: Segment, whole: bool) -> BackendRun:
        kept = self._kept.pop(segment.start, None)
        if kept is not None and self._fits(kept, segment):
            return kept
        if kept is not None:
            kept.deactivate()
        if whole:
            loader = self.graph.mark(segment.outputs)
        else:
            feed = {name: self.tensors[name] for name in segment.inputs}
            loader = self.graph.cut(self._declared(feed), segment.outputs)
        live = self._live(loader, same_inputs=whole)
        live.activate()
        return live

    def _live(self, loader: Loader[Any] | None, *, same_inputs: bool) -> BackendRun:
        scratch = BackendResult(label=self.label, backend=self.result.backend)
        return BackendRun(scratch, lambda: self.make(loader, same_inputs), self.needs)

    def _declared(self, feed: Feed) -> TensorMetadata:
        """Return types and shapes of a feed, the model's own inputs with the types that the model declares."""
        metadata = TensorMetadata()
        for name, array in feed.items():
            declared = self.graph.inputs.get(name)
            known = declared is not None and declared.dtype is not None
            metadata.add(name, declared.dtype if known and declared is not None else dtype_of(array), array.shape)
        return metadata

    def _fits(self, live: BackendRun, segment: Segment) -> bool:
        inputs = live.inputs()
        return inputs is not None and all(
            name in inputs and inputs[name].accepts_shape(self.tensors[name].shape) for name in segment.inputs
        )

    def _carry(self, segment: Segment, outputs: Mapping[str, Any], live: BackendRun) -> None:
        """Take over the tensors that a part made, and how long it took."""
        self._seconds += live.last_seconds
        for name in segment.wanted:
            self._seen[name] = (dtype_of(outputs[name]), tuple(outputs[name].shape))
        self._dead = set(segment.last_use)
        for name in segment.outputs:
            if name not in self._dead:
                self.tensors[name] = lasting(live, outputs[name])

    def _note(self, live: BackendRun) -> None:
        """Take over the result of a part's runner."""
        result, live_result = self.result, live.result
        result.version = result.version or live_result.version
        result.notes.extend(note for note in live_result.notes if note not in result.notes)
        if live_result.error and not result.error:
            result.error, result.hint = live_result.error, live_result.hint


def lasting(live: BackendRun, array: Any) -> Any:
    """Return an array that outlives the runner."""
    return array if live.outputs_stay_valid else copy.deepcopy(array)
