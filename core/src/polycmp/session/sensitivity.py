"""Whether each of a model's outputs moves with its inputs: a comparison of one that does not could not have failed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polycmp import sentences
from polycmp.compare.impostors import same_but_rounding
from polycmp.loader import Loader
from polycmp.messages import only_errors
from polycmp.runs.backend_run import BackendRun, copy_outputs
from polycmp.runs.loop import Step, copy_feed
from polycmp.runs.resolution import Resolved
from polycmp.runs.resolved_backend import ResolvedBackend
from polycmp.tensors import Feed, FeedPerRun, Outputs, TensorMetadata, dtype_class, to_numpy

if TYPE_CHECKING:
    from polycmp.graph import ModelGraph

Array = NDArray[Any]
#: Runs a backend once with other inputs; None if that fails.
Again = Callable[[Feed], "Outputs | None"]
#: What a single real number, or one that is everywhere, is multiplied by to be another one of that size; a whole
#: number, which may be an index, becomes 0 there.
_LESS = 0.75
#: A text that is in no table of a model.
_OTHER_TEXT = "\N{REPLACEMENT CHARACTER}"
#: Matrices move by up to half a step of 8 bits, at random, to see whether outputs move by this share at least (choice).
_STEPS, _AT_RANDOM, _LEAST_MOVE = "int8", 2, 2.0**-14
_REAL, _WHOLE = frozenset({"float", "complex"}), frozenset({"integer", "bool"})


class Sensitivity:
    """Asks of the steps of a run which outputs move, at the least cost that settles it.

    Iterations whose inputs differ tell; else a backend runs once more, with other inputs. Weights settle it only for
    outputs that none of the inputs which could be changed reaches.

    Outputs of whole numbers and booleans are decisions, such as a class, which may well stay as they are: they count
    only where no output moves at all.

    Args:
        resolved: The backends of the run.
        names: Names of outputs in the reference's model, by those in the candidate's where they differ.
        final: The outputs of the model where tensors inside it may be compared beside them; None where all are outputs.
        several: Whether further iterations will follow the first, so that they tell.
        in_windows: Whether the outputs of an iteration come part by part, so that no step has all of them.

    Attributes:
        label: Label of the run whose outputs are looked at; empty before the first step.
    """

    def __init__(
        self,
        resolved: Resolved,
        names: Mapping[str, str],
        *,
        final: Collection[str] | None = None,
        several: bool = False,
        in_windows: bool = False,
    ) -> None:
        self._resolved, self._names, self._final = resolved, names, final
        self._several, self._in_windows = several, in_windows
        self._known = {backend.label: backend for backend in resolved.backends}
        self.label: str = ""
        self._first = dict[str, Array]()
        self._feed: Feed = {}
        self._changed: set[str] = set()
        self._moved: set[str] = set()
        self._decisions: set[str] = set()
        self._unmoved: dict[str, str] | None = None
        self._saved: dict[str, frozenset[str]] = {}

    def look(self, step: Step, *, settle: bool) -> dict[str, list[str]]:
        """Look at the outputs of a step, and ask for others where need be.

        Args:
            step: The step; of several windows of an iteration each.
            settle: Whether the answer is needed now.

        Returns:
            The outputs of which it is established that they did not move so far, by label of the run.
        """
        for label, outputs in step.outputs.items():
            if label not in self._known and hasattr(outputs, "insensitive"):
                self._saved[label] = frozenset(map(self._name, outputs.insensitive))
        live = [label for label in step.outputs if label in self._known]
        if not self.label and live:
            self._begin(step, step.fastest if step.fastest in live else live[-1])
        if not live or self._in_windows or self._looks_inside(self._first):
            return {}
        if step.index and self.label in step.outputs and self._still(self._first):
            self._compare(self._first, self._feed_of(step), step.outputs[self.label])
        if self._unmoved is None and step.fastest == self.label and not self._several:
            self._settle(self._known[self.label], step.again, self._first)
        elif self._unmoved is None and settle and bool(step.index) == self._several:
            self._settle_beside()
        blind = self._blind()
        return {
            label: [output for output in step.outputs[label] if self._name(output) in blind] for label in live if blind
        }

    def explain(self, compared: Iterable[str]) -> dict[str, str]:
        """Explain in words of each output that could not have differed why not.

        A model of which nothing is settled yet is run for it.

        Args:
            compared: Names of the outputs that were compared, in the reference's model.
        """
        names = frozenset(compared)
        # A fault shows in the first tensor inside that it reaches; with inputs of 0 it may reach none.
        inside = self._looks_inside(names) and next(_other_feeds(self._feed), None) is not None
        if self.label and self._unmoved is None and not inside:
            self._settle_beside(names)
        saved = frozenset().union(*self._saved.values()) - self._moved
        blind = {name: sentences.UNMOVED if saved >= names else sentences.unmoved(name) for name in saved}
        return {name: why for name, why in {**blind, **self._blind()}.items() if name in names}

    def _name(self, output: str) -> str:
        return self._names.get(output, output)

    def _looks_inside(self, names: Iterable[str]) -> bool:
        return self._final is not None and not {*names} <= {*map(self._name, self._final)}

    def _begin(self, step: Step, label: str) -> None:
        """Keep the first inputs and outputs of one run."""
        self.label = label
        self._feed = copy_feed(self._feed_of(step))
        if not self._in_windows:
            self._first = self._by_name(copy_outputs(step.outputs[label]))

    def _feed_of(self, step: Step) -> Feed:
        return step.feed.by_run.get(self.label, step.feed) if isinstance(step.feed, FeedPerRun) else step.feed

    def _by_name(self, outputs: Outputs) -> dict[str, Array]:
        """Return arrays by the outputs' names in the reference's model; those without elements say nothing."""
        arrays = {self._name(output): to_numpy(array) for output, array in outputs.items()}
        return {name: array for name, array in arrays.items() if array.size}

    def _compare(self, first: Mapping[str, Array], feed: Feed, outputs: Outputs) -> None:
        """Note which inputs are others than the first, and which outputs."""
        self._changed |= _different(self._feed, feed)
        arrays = self._by_name(outputs)
        self._moved |= {
            name for name in self._still(first) if name in arrays and not same_but_rounding(first[name], arrays[name])
        }

    def _still(self, first: Mapping[str, Array]) -> list[str]:
        """Return the outputs that have not moved; decisions only where none has."""
        still = [name for name in first if name not in self._moved]
        return still if len(still) == len(first) else [name for name in still if _is_real(first[name])]

    def _blind(self) -> dict[str, str]:
        moved = self._moved | self._decisions if self._moved else set[str]()
        plain = sentences.unmoved if self._moved else lambda _: sentences.UNMOVED
        return {name: why or plain(name) for name, why in (self._unmoved or {}).items() if name not in moved}

    def _settle_beside(self, names: Collection[str] = ()) -> None:
        """Ask a backend that is started for it: the quickest with the reference's model, or else the reference.

        Args:
            names: The outputs, where no step has all of them.
        """
        if self._first and not self._still(self._first):
            self._unmoved = {}
            return
        from polycmp.runs.trial import quickest, with_plain_model

        last = self._resolved.backends[-1]
        for backend in (quickest(self._resolved.backends, self._resolved.registry), last):
            plain = with_plain_model(backend or last, last.model)
            with _running(plain) as run:
                outputs = run.infer_beside(self._feed)
                if outputs is not None:
                    self._settle(plain, run.infer_beside, self._by_name(outputs))
                    return
        self._unmoved = {name: sentences.untried(name) for name in (self._still(self._first) or names)}

    def _settle(self, backend: ResolvedBackend, again: Again, first: Mapping[str, Array]) -> None:
        """Run a backend with other inputs until its outputs move, and explain of those that stay why they count.

        Args:
            backend: The backend.
            again: Runs it.
            first: Its outputs for the first inputs.
        """
        for feed in _other_feeds(self._feed):
            outputs = again(feed) if self._still(first) else None
            if outputs is not None:
                self._compare(first, feed, outputs)
        self._unmoved, self._decisions = {}, {name for name, array in first.items() if not _is_real(array)}
        still = self._still(first)
        graph = backend.model.graph() if still else None
        if graph is not None:
            self._unmoved = self._unreached({name: first[name] for name in still}, backend, graph, again)
        elif not self._moved and not any(map(_holds_several, first.values())):
            self._unmoved = {name: sentences.unmoved_by_inputs(name) for name in still}

    def _unreached(
        self, still: Mapping[str, Array], backend: ResolvedBackend, graph: ModelGraph, again: Again
    ) -> dict[str, str]:
        """Explain why nothing could have differed in those outputs that stay although, by the graph, they need not.

        The explanation is empty where it is no more than that.

        Args:
            still: The outputs that stay, by name.
            backend: The backend that made them.
            graph: Its model.
            again: Runs it.
        """
        from polycmp.session.upstream import Upstream

        graph_names = {self._name(name): name for name in graph.outputs}
        upstream = Upstream(graph)
        reads = {name: upstream.inputs(graph_names.get(name, name)) for name in still}
        # A fault of an operator shows in what it makes of these inputs, but not that of a table without their texts.
        texts = {name for name, array in _arrays(self._feed).items() if dtype_class(array.dtype) == "string"}
        asked = [
            name for name in still
            if reads[name] and (reads[name] <= texts or upstream.has_matrices(graph_names.get(name, name)))
        ]  # fmt: skip
        unreached = {name: "" for name in asked if self._has(reads[name], self._changed)}
        untried = {name: still[name] for name in asked if name not in unreached}
        if not untried:
            return unreached
        zeros = {name: _elsewhere(array) for name, array in _arrays(self._feed).items() if _is_zero(array)}
        outputs = again({**self._feed, **zeros}) if zeros else None
        if outputs is not None:
            other = self._by_name(outputs)
            dead = [
                name
                for name in untried
                if self._has(reads[name], zeros) and same_but_rounding(still[name], other[name])
            ]
            unreached.update(dict.fromkeys(dead, ""))
        left = {graph_names.get(name, name): array for name, array in untried.items() if name not in unreached}
        moved = _moved_by_weights(backend, graph, self._feed, left)
        unreached.update(
            {self._name(name): sentences.unreached(self._name(name)) for name in left if name not in moved}
        )
        return unreached

    def _has(self, reads: Collection[str], changed: Collection[str]) -> bool:
        """Return whether an input that was changed is among some; one that no feed names may be any of them."""
        unknown = any(name not in self._feed for name in reads)
        return bool(changed) and (unknown or not {*changed}.isdisjoint(reads))


@contextmanager
def _running(backend: ResolvedBackend, loader: Loader[Any] | None = None) -> Iterator[BackendRun]:
    """Open a session of a backend's own beside the run.

    Args:
        backend: The backend.
        loader: Loads what it runs; None for its own model.
    """
    run = backend.make_run(loader)
    with only_errors():
        try:
            run.activate()
            yield run
        finally:
            run.deactivate()


def _arrays(feed: Feed) -> dict[str, Array]:
    return {name: to_numpy(value) for name, value in feed.items() if hasattr(value, "dtype")}


def _other_feeds(feed: Feed) -> Iterator[Feed]:
    """Yield other inputs of the same kind: numbers drawn from those of each input, where that changes anything.

    So they lie in the range that is being looked at. Whole numbers, which may be indices, are drawn again after the
    others, and texts last: in place of one text alone comes one that no model knows, which a model that does not know
    the first takes for the same.

    Args:
        feed: Arrays by input.
    """
    other = dict(feed)
    for kinds in (_REAL, _WHOLE, {"string"}):
        drawn = {name: _drawn(array) for name, array in _arrays(feed).items() if dtype_class(array.dtype) in kinds}
        if _different(feed, drawn):
            other.update(drawn)
            yield dict(other)


def _drawn(array: Array) -> Array:
    flat: Array = array.reshape(-1)
    if not flat.size:
        return array
    if _holds_several(array):
        flat = flat[np.random.default_rng(0).integers(0, flat.size, flat.size)]
    elif dtype_class(array.dtype) == "string":
        flat = np.array([_OTHER_TEXT] * flat.size, object)
    else:
        flat = (flat * np.asarray(_LESS if _is_real(array) else 0, array.dtype)).astype(array.dtype)
    return flat.reshape(array.shape)


def _elsewhere(array: Array) -> Array:
    """Return other numbers of the type and shape of zeros."""
    return np.random.default_rng(0).uniform(-1.0, 1.0, array.shape).astype(array.dtype)


def _different(one: Feed, two: Feed) -> set[str]:
    """Return the names of the inputs that are others in two feeds."""
    others = _arrays(two)
    pairs = {name: (array, others[name]) for name, array in _arrays(one).items() if name in others}
    numbers = {name for name, (array, _) in pairs.items() if dtype_class(array.dtype) in _REAL | _WHOLE}
    return {name for name, arrays in pairs.items() if not np.array_equal(*arrays, equal_nan=name in numbers)}


def _is_real(array: Array) -> bool:
    return dtype_class(array.dtype) in _REAL


def _is_zero(array: Array) -> bool:
    return _is_real(array) and bool(array.size) and not array.any()


def _holds_several(array: Array) -> bool:
    """Return whether an array holds more than one number."""
    return array.size > 1 and not bool((array == array.reshape(-1)[0]).all())


def _moved_by_weights(
    backend: ResolvedBackend, graph: ModelGraph, feed: Feed, outputs: Mapping[str, Array]
) -> Collection[str]:
    """Return the outputs that move if a model's weights do: a fault in these shows there.

    Args:
        backend: A backend that made the outputs. Where it runs no changed model, outputs of several numbers may move.
        graph: Its model.
        feed: The inputs.
        outputs: Its outputs for them.
    """
    from polycmp.graph import PerturbableGraph, random_inputs
    from polycmp.session.upstream import last_weights

    changed = None
    if outputs and isinstance(graph, PerturbableGraph) and backend.inside == "graph":
        kinds = dict.fromkeys(last_weights(graph), _STEPS)
        changed = graph.perturbed(kinds, _AT_RANDOM, TensorMetadata.from_feed_dict(feed))
    if changed is not None:
        with _running(backend, changed.mark(list(outputs))) as run:
            moved_outputs = run.infer_beside({**feed, **random_inputs(changed, graph, _AT_RANDOM)})
        if moved_outputs is not None:
            return {
                name
                for name, array in outputs.items()
                if not same_but_rounding(array, to_numpy(moved_outputs[name]), _LEAST_MOVE)
            }
    return {name for name, array in outputs.items() if _holds_several(array)}
