"""One backend on its way through a graph, segment by segment, with tensors of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from polycmp.builtin.layerwise.attempt import restrict
from polycmp.builtin.layerwise.partition import Segment
from polycmp.builtin.layerwise.refused_tensors import RefusedTensors
from polycmp.builtin.layerwise.segment_runner import MakeRunner, SegmentRunner, lasting
from polycmp.builtin.layerwise.variants import Variants
from polycmp.errors import PluginError
from polycmp.graph import ModelGraph
from polycmp.loader import Loader
from polycmp.messages import only_errors
from polycmp.results import BackendResult
from polycmp.runs import BackendRun, Iterations, sharing_memory
from polycmp.tensors import Feed, TensorMetadata

__all__ = ["JoinParts", "PartitionedRun"]

#: Makes one model of loaders of separate parts, each with the prefix that its tensors get.
JoinParts = Callable[[Mapping[str, Loader[Any]]], Loader[Any]]


class PartitionedRun(SegmentRunner):
    """A backend on its way through a graph in parts, each a model of its own with only its weights.

    Args:
        result: The backend's result, in which failures and timings are recorded.
        graph: The model.
        make: Makes the runner of a part.
        needs: Modules whose version tells which backend this is.
        compiles: Whether making a runner takes seconds or more.
        join: Makes one model of several parts, by their prefixes; None if nothing can.
        variants: The same backend with other options; None if it has none to vary.

    Attributes:
        variants: The same backend with other options; None if it has none to vary.
        join: Makes one model of several parts, by their prefixes; None if nothing can.
        unavailable: Whether the backend cannot run here, whatever the model: a module or a device is missing, say.
    """

    def __init__(
        self,
        result: BackendResult,
        graph: ModelGraph,
        make: MakeRunner,
        needs: tuple[str, ...] = (),
        *,
        compiles: bool = False,
        join: JoinParts | None = None,
        variants: Variants[PartitionedRun] | None = None,
    ) -> None:
        super().__init__(result, graph, make, needs, compiles=compiles)
        self.variants = variants
        self.join = join
        self.unavailable: bool = False
        self._refused = RefusedTensors(self)
        self._current: BackendRun | None = None
        self._iterations = Iterations(result)

    def through(
        self,
        graph: ModelGraph,
        make: MakeRunner,
        change: Callable[[PartitionedRun], PartitionedRun],
        join: JoinParts | None = None,
    ) -> PartitionedRun:
        """Return the same backend on another view of its model, with the same record.

        Args:
            graph: The view.
            make: Makes the runner of a part of it.
            change: Makes the same view of this backend with other options.
            join: Makes one model of several parts of the view; None if nothing can.
        """
        variants = None if self.variants is None else self.variants.through(change)
        return type(self)(self.result, graph, make, self.needs, compiles=self.compiles, join=join, variants=variants)

    @property
    def is_under_way(self) -> bool:
        """Whether an iteration was begun and has not ended."""
        return bool(self.tensors)

    @property
    def outputs_stay_valid(self) -> bool:
        """Whether what the last `run` returned outlives the next one."""
        return self._current is None or self._current.outputs_stay_valid

    def dtype_of(self, name: str) -> Any:
        """Return the element type of a wanted tensor that this backend has computed."""
        return self._seen[name][0]

    def fail(self, error: str, hint: str = "") -> None:
        """Record that this backend failed."""
        self.result.error, self.result.hint = error, hint

    def begin(self, feed: Feed) -> None:
        """Start an iteration."""
        self.release()
        self.tensors: dict[str, Any] = dict(feed)
        self.given: dict[str, Any] = dict(feed)
        self._feed = TensorMetadata.from_feed_dict(feed)
        self._seconds = 0.0

    def run(self, segment: Segment, *, keep: bool = False, whole: bool = False) -> Mapping[str, Any] | None:
        """Run one segment and return the wanted tensors, valid until the next call; None if the backend failed.

        Args:
            segment: The segment to run.
            keep: Whether another iteration will want the same session again.
            whole: Whether this segment is all of the model.
        """
        if not self.is_well:
            return None
        self.release()
        self._refused.spare(segment)
        segment = restrict(segment, [name for name in segment.outputs if name not in self.hidden])
        if not segment.outputs:
            return {}
        tensors = self._refused.pieces.again(segment, keep=keep)
        attempt = self.attempt(segment, whole=whole) if tensors is None else None
        if attempt is not None and attempt.outputs is None:
            tensors, attempt = self._refused.retry(attempt, keep=keep, whole=whole)
        if attempt is None:
            return tensors
        segment, live, outputs = attempt
        if not segment.outputs:  # nothing of what is wanted here can be shown, and nothing else is needed
            return {}
        self._note(live)
        if outputs is None:
            return None
        missing = [name for name in segment.outputs if name not in outputs]
        if missing:
            self.fail(f"returned no tensor {missing[0]!r} although it was asked for it")
            return None
        if live.outputs_stay_valid and sharing_memory(outputs, {"": self.tensors}):
            self.fail("puts its outputs into memory of earlier ones, although it says that these stay valid")
            return None
        if keep:
            self._kept[segment.start] = live
        else:
            self._current = live
        self._carry(segment, outputs, live)
        return {name: outputs[name] for name in segment.wanted}

    def finish(self) -> float:
        """End an iteration and return how many seconds its inferences took."""
        if self.is_well:
            self._refused.note()
            outputs = TensorMetadata()
            for name, (dtype, shape) in self._seen.items():
                outputs.add(name, dtype, shape)
            self._iterations.add(self._seconds, outputs)
        self.tensors = {}
        return self._seconds

    def release(self) -> None:
        """Release the last segment's session, unless it is kept, and the tensors that are no longer read."""
        for name in self._dead:
            self.tensors.pop(name, None)
        self._dead = set()
        live, self._current = self._current, None
        if live is not None:
            live.deactivate()
            self._note(live)

    def close(self) -> None:
        """Release all sessions and tensors, and record how long the iterations took."""
        self.sum_up()
        self.release()
        for live in self._kept.values():
            live.deactivate()
            self._note(live)
        self._kept.clear()

    def sum_up(self) -> None:
        """Record how long the iterations took."""
        self._iterations.sum_up()

    def run_part(self, inputs: Feed, outputs: Sequence[str]) -> dict[str, Any] | None:
        """Run any part of the model once on any tensors; a failure is not recorded.

        Args:
            inputs: Tensors to feed; the part begins at them.
            outputs: Names of the tensors to compute.

        Returns:
            The outputs, or None if this backend cannot run the part.
        """
        repeats = self.run_part_repeatedly(inputs, outputs, 1)
        return repeats[0] if repeats else None

    def run_part_repeatedly(self, inputs: Feed, outputs: Sequence[str], times: int) -> list[dict[str, Any]]:
        """Run any part of the model several times in one runner; a failure is not recorded.

        Args:
            inputs: Tensors to feed; the part begins at them.
            outputs: Names of the tensors to compute.
            times: Number of runs.

        Returns:
            The outputs of each run; none where this backend cannot run the part.
        """
        repeats = self._run_loader(self.part(inputs, outputs), inputs, times)
        return [{name: tensors[name] for name in outputs if name in tensors} for tensors in repeats]

    def _run_loader(self, loader: Loader[Any], feed: Feed, times: int = 1) -> list[dict[str, Any]]:
        live = self._live(loader, same_inputs=False)
        with only_errors():
            live.activate()
            kept = _infer(live, feed, times)
        live.deactivate()
        return kept

    @property
    def can_join(self) -> bool:
        """Whether several parts can run as one model."""
        return self.join is not None

    def run_parts(self, parts: Mapping[str, tuple[Feed, Sequence[str]]]) -> dict[str, dict[str, Any]] | None:
        """Run several parts of the model at once, as one model; a failure is not recorded.

        Args:
            parts: Feed and names of outputs of each part, by any key that tells the parts apart.

        Returns:
            The outputs by part, or None if this backend cannot run all of them together.
        """
        assert self.join is not None
        prefixes = {key: f"part{index}/" for index, key in enumerate(parts)}
        loader = self.join({prefixes[key]: self.part(*part) for key, part in parts.items()})
        feed = {prefixes[key] + name: array for key, (inputs, _) in parts.items() for name, array in inputs.items()}
        results = self._run_loader(loader, feed)
        if not results:
            return None
        return {
            key: {name: results[0][prefixes[key] + name] for name in outputs if prefixes[key] + name in results[0]}
            for key, (_, outputs) in parts.items()
        }

    def part(self, inputs: Feed, outputs: Sequence[str]) -> Loader[Any]:
        """Return a loader of the part of the model between some tensors and others."""
        return self.graph.cut(self._declared(inputs), outputs)

    def run_whole(self, feed: Feed, outputs: Sequence[str] | None = None) -> dict[str, Any] | None:
        """Run the whole model once, with other outputs if asked; a failure is recorded.

        Args:
            feed: The inputs.
            outputs: Tensors to mark in place of the model's outputs.
        """
        repeats = self.run_repeatedly(feed, outputs, 1)
        return repeats[0] if repeats else None

    def run_repeatedly(self, feed: Feed, outputs: Sequence[str] | None, times: int) -> list[dict[str, Any]]:
        """Run the whole model several times in one runner, with other outputs if asked; a failure is recorded.

        Args:
            feed: The inputs.
            outputs: Tensors to mark in place of the model's outputs; None for those.
            times: Number of runs.

        Returns:
            The outputs of each run that succeeded.
        """
        is_plain = outputs is None or tuple(outputs) == self.graph.outputs
        start = time.monotonic()
        live = self._live(None if is_plain or outputs is None else self.graph.mark(outputs), same_inputs=True)
        live.activate()
        self.unavailable = isinstance(live.error, PluginError)
        kept = _infer(live, feed, times)
        live.deactivate()
        self._note(live)
        if kept and not self.has_run_whole:
            self.has_run_whole = True
            self.forecast.learn(len(self.graph.nodes), time.monotonic() - start)
        return kept


def _infer(live: BackendRun, feed: Feed, times: int) -> list[dict[str, Any]]:
    """Run the same feed several times, and copy the outputs so that they outlive the runner."""
    kept: list[dict[str, Any]] = []
    for _ in range(times):
        outputs = live.infer(feed) if live.is_active else None
        if outputs is None:
            break
        kept.append({name: lasting(live, array) for name, array in outputs.items()})
    return kept
