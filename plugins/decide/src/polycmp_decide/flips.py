"""Inputs that flip: a walk from given inputs to ties of the reference's decision, where the others decide, too.

On the line between two inputs of different decisions the tie is found by bisection, which needs no gradients. Where a
backend's own tie lies on that line says how far its decisions are moved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polycmp.errors import DataError, UsageError
from polycmp.runs import BackendRun, FeedbackContext, Resolved, copy_feed, labels_called, open_feeds
from polycmp.tensors import DataSource, Feed, Source, TensorMetadata, is_floating, to_numpy

if TYPE_CHECKING:
    from polycmp.compare import OutputComparison
    from polycmp.results import Outcome
    from polycmp_decide.plugin import FlipOptions

Choices = npt.NDArray[Any]
Infer = Callable[[Feed], Mapping[str, Any] | None]
#: Inputs that are made at each tie; more of one tie tell less than those of another.
_PER_TIE = 5
#: Directions that are tried from an input before it is given up.
_TRIES = 8
#: Halvings of a line: beyond these float32 holds no number between its ends.
_HALVINGS = 40
#: Share of a line within which a backend's own tie is looked for first.
_FIRST_REACH = 2.0**-24


def make_flips(options: FlipOptions, following: FeedbackContext, resolved: Resolved) -> Flips:
    """Create the feedback that walks to ties.

    Raises:
        UsageError: Options contradict each other, or there are no two backends.
    """
    if following.sequential:
        raise UsageError(
            "--sequential-runners and --flips exclude each other",
            why="both sides are asked in turn on the way to a tie", hint="leave out --sequential-runners",
        )  # fmt: skip
    if len(resolved.backends) < 2:
        raise UsageError(
            "--flips needs two backends that run here", why="it looks for inputs on which they decide differently",
            hint="polycmp run NEW OLD -b BACKEND --flips 200",
        )  # fmt: skip
    if not options.number:
        raise UsageError("--flip-within, --flip-output and --flip-threshold need --flips", hint="--flips 200")
    return Flips(options, following, resolved)


@dataclass
class Ties:
    """Ties of a backend beside the reference's.

    Attributes:
        apart: Distance of its tie from the reference's, as a share of the inputs' range, for each tie.
        change: The smallest change of a given input that makes it decide otherwise than the reference, alike.
        differing: Number of inputs near ties that it decides otherwise.
    """

    apart: list[float] = field(default_factory=list)
    change: float = math.inf
    differing: int = 0


class Flips:
    """Goes on from the given inputs to inputs near ties; see `polycmp.runs.Feedback`.

    Args:
        options: The options.
        following: The run.
        resolved: The backends.

    Attributes:
        steps: Each input is a sequence of its own.
    """

    steps = 1

    def __init__(self, options: FlipOptions, following: FeedbackContext, resolved: Resolved) -> None:
        self._options, self._resolved = options, resolved
        labels = [backend.label for backend in resolved.backends]
        self._reference = next(iter(labels_called(following.reference, resolved.plan.backends)), labels[-1])
        self._infer: dict[str, Infer] = {}
        file = resolved.backend(self._reference).model.describe_file()
        self._finals = frozenset() if file is None else frozenset(file.outputs)
        self._output = options.output
        self._count = 0
        self._ties: dict[str, Ties] = {label: Ties() for label in labels if label != self._reference}
        self.notes: list[str] = []

    def join(self, runs: Sequence[BackendRun]) -> list[BackendRun]:
        """Return the runs, which also infer outside the iterations."""
        self._infer = {run.label: run.infer_beside for run in runs}
        return list(runs)

    def source(self, source: DataSource) -> DataSource:
        """Return a source of inputs near ties."""
        return _FlipSource(self, source)

    def starts(self, source: Source, inputs: TensorMetadata) -> Iterator[Sequence[Feed]]:
        """Yield each input as a sequence, made with sessions of its own."""
        with ExitStack() as stack:
            for backend in self._resolved.backends:
                run = backend.make_run()
                stack.callback(run.deactivate)
                run.activate()
                self._infer[backend.label] = run.infer_beside
            feeds = [copy_feed(feed) for feed in self.feeds(source, inputs)]
        for feed in feeds:
            yield [feed]

    def then(
        self, step: int, feed: Feed, outputs: Mapping[str, Any], reference: Mapping[str, Any], given: Feed
    ) -> Feed:
        """Return the next feed of a sequence, which has none."""
        del step, feed, outputs, reference
        return given

    def made(self, outputs: Mapping[str, Mapping[str, Any]]) -> None:
        """Count the decisions that differ near a tie."""
        if self._output not in outputs.get(self._reference, ()):  # a part of a model that does not make it
            return
        self._count += 1
        expected = self._choices(outputs[self._reference])
        for label, ties in self._ties.items():
            if self._output in outputs.get(label, ()):
                ties.differing += not np.array_equal(self._choices(outputs[label]), expected)

    def add(self, iteration: int, candidate: str, reference: str, comparisons: Sequence[OutputComparison], /) -> None:
        """Ignore verdicts, which do not concern decisions."""

    def finish(self, outcome: Outcome, /) -> None:
        """Report the agreement near ties."""
        within = self._options.within
        for label, ties in self._ties.items():
            if not self._count or not ties.apart:
                continue
            outcome.notes += [
                f"of {self._count:,} inputs within {within:g} of a tie, {label} decides "
                f"{100 * ties.differing / self._count:.3g} % otherwise than {self._reference}; the smallest change of "
                f"a given input that makes them disagree: {_change(ties.change)}",
                f"{_apart(ties.apart, label, self._reference)}; all as shares of the inputs' range",
            ]
            outcome.extra.setdefault("flips", {})[label] = {
                "inputs": self._count, "within": within, "differing": ties.differing,
                "apart": [value if math.isfinite(value) else None for value in ties.apart],
                "smallest_change": ties.change if math.isfinite(ties.change) else None,
            }  # fmt: skip

    # --- the walk

    def feeds(self, source: Source, inputs: TensorMetadata) -> Iterator[Feed]:
        """Yield inputs near ties.

        Raises:
            DataError: A backend fails on the given inputs, or no change of them makes the reference decide otherwise.
        """
        tie_count = -(-self._options.number // _PER_TIE)
        initial_feeds = [copy_feed(feed) for feed in islice(open_feeds(source, inputs), _TRIES * tie_count)]
        if not initial_feeds:
            return
        span = _spans(initial_feeds)
        if not span:
            raise DataError("no input of real numbers that could be changed", whose="--flips")
        random = np.random.default_rng(0)
        drawn = (
            self._random_line(initial_feeds[place % len(initial_feeds)], span, random) for place in range(2 * tie_count)
        )
        remaining = self._options.number
        for line in chain(_lines(initial_feeds), drawn):
            tie = None if line is None else self._tie(line)
            if line is None or tie is None:
                continue
            start, at = tie
            for label in self._ties:
                self._compare_ties(label, line, start, at, span)
            reach = self._options.within / line.length(span)
            for shift in random.uniform(-reach, reach, min(_PER_TIE, remaining)):
                yield line.at(at + float(shift))
                remaining -= 1
            if not remaining:
                return
        if remaining == self._options.number:
            raise DataError(
                f"{self._reference} decides alike on all given inputs, and on all that were tried beside them",
                whose="--flips", hint="give inputs that are decided differently: --load-inputs FILE",
            )  # fmt: skip
        self.notes.append(f"{self._options.number - remaining} inputs near ties; more given inputs lead to more")

    def _random_line(self, feed: Feed, span: Mapping[str, float], random: np.random.Generator) -> _Line | None:
        """Return a line in a direction in which the reference's decision changes within the inputs' range."""
        start = self._decide(self._reference, feed)
        for _ in range(_TRIES):
            end = {
                name: (array + random.uniform(-1, 1, array.shape) * span[name]).astype(array.dtype)
                if name in span
                else array
                for name, array in feed.items()
            }
            if not np.array_equal(self._decide(self._reference, end), start):
                return _Line(feed, end)
        return None

    def _tie(self, line: _Line) -> tuple[Choices, float] | None:
        """Return the reference's decision at the start, and the place where it changes; None if it does not."""
        start = self._decide(self._reference, line.at(0.0))
        if np.array_equal(self._decide(self._reference, line.at(1.0)), start):
            return None
        return start, self._bisect(self._reference, line, start, 0.0, 1.0)

    def _bisect(self, label: str, line: _Line, start: Choices, low: float, high: float) -> float:
        """Return the last place behind `low` that a backend still decides as at the start of a line."""
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if middle in (low, high):
                break
            alike = np.array_equal(self._decide(label, line.at(middle)), start)
            low, high = (middle, high) if alike else (low, middle)
        return low

    def _compare_ties(
        self, label: str, line: _Line, start: Choices, reference_tie: float, span: Mapping[str, float]
    ) -> None:
        """Record the distance of a backend's tie from the reference's, and the smallest change that reaches both."""
        ties, length, reach = self._ties[label], line.length(span), _FIRST_REACH

        def alike(place: float) -> bool:
            return np.array_equal(self._decide(label, line.at(place)), start)

        while reach < 1 and not (alike(max(reference_tie - reach, 0.0)) and not alike(min(reference_tie + reach, 1.0))):
            reach *= 4
        if reach >= 1:  # on all of the line, or at one of its ends, it decides otherwise
            ties.apart.append(math.inf)
            candidate_tie = 1.0 if alike(0.0) else 0.0
        else:
            candidate_tie = self._bisect(
                label, line, start, max(reference_tie - reach, 0.0), min(reference_tie + reach, 1.0)
            )
            ties.apart.append(_Line(line.at(candidate_tie), line.at(reference_tie)).length(span))
        if ties.apart[-1]:
            first, last = sorted((candidate_tie, reference_tie))
            ties.change = min(ties.change, first * length, (1 - last) * length if line.is_end_given else math.inf)

    def _decide(self, label: str, feed: Feed) -> Choices:
        outputs = self._infer[label](feed)
        if outputs is None:
            raise DataError(f"{label} fails on an input on the way to a tie", whose="--flips", hint="-v says why")
        return self._choices(outputs)

    def _choices(self, outputs: Mapping[str, Any]) -> Choices:
        """Return the decisions of outputs: the largest of each row, or the elements above the threshold."""
        finals = {name: array for name, array in outputs.items() if not self._finals or name in self._finals}
        self._output = self._output or _only(finals or outputs)
        if self._output not in outputs:
            raise UsageError(
                f"--flip-output: no output {self._output!r}", why=f"the outputs are {', '.join(outputs)}",
                hint=f"--flip-output {next(iter(outputs))}",
            )  # fmt: skip
        values = np.asarray(to_numpy(outputs[self._output])).astype(np.float64)
        threshold = self._options.threshold
        return values > threshold if threshold is not None else np.asarray(values.argmax(-1))


class _FlipSource(DataSource):
    def __init__(self, flips: Flips, inner: DataSource) -> None:
        self._flips, self._inner = flips, inner
        self.synthetic = inner.synthetic

    @property
    def notes(self) -> Sequence[str]:
        return [*self._inner.notes, *self._flips.notes]

    def suggestion(self) -> str:
        return self._inner.suggestion()

    def __call__(self, inputs: TensorMetadata) -> Iterator[Feed]:
        return self._flips.feeds(self._inner, inputs)


@dataclass(frozen=True)
class _Line:
    """The inputs between two, of which those of real numbers change.

    Attributes:
        start: The one end, a given input.
        end: The other.
        is_end_given: Whether the other end is a given input, too.
    """

    start: Feed
    end: Feed
    is_end_given: bool = False

    def at(self, place: float) -> Feed:
        """Return the input at a place, 0 and 1 being the ends."""
        return {
            name: array
            if array is self.end[name] or not is_floating(to_numpy(array).dtype)
            else ((1 - place) * array.astype(np.float64) + place * self.end[name].astype(np.float64)).astype(
                array.dtype
            )
            for name, array in self.start.items()
        }

    def length(self, span: Mapping[str, float]) -> float:
        """Return the largest change of an element between the ends, as a share of its input's range."""
        changes = [
            float(np.abs(self.end[name].astype(np.float64) - self.start[name]).max(initial=0.0)) / span[name]
            for name in span
        ]
        return max(changes)


def _lines(feeds: Sequence[Feed]) -> Iterator[_Line]:
    """Yield the lines between neighbours among inputs of the same shapes."""
    for one, two in pairwise(feeds):
        if all(one[name].shape == two[name].shape for name in one):
            moved = [name for name in one if is_floating(to_numpy(one[name]).dtype)]
            whole = all(name in moved or np.array_equal(one[name], two[name]) for name in one)
            yield _Line(one, {**one, **{name: two[name] for name in moved}}, whole)


def _spans(feeds: Sequence[Feed]) -> dict[str, float]:
    """Return the range of each input of real numbers."""
    spans = {}
    for name, array in feeds[0].items():
        if not is_floating(to_numpy(array).dtype):
            continue
        values = [np.asarray(feed[name]).astype(np.float64) for feed in feeds]
        span = max(float(value.max(initial=-math.inf)) for value in values)
        span -= min(float(value.min(initial=math.inf)) for value in values)
        if math.isfinite(span) and span > 0:
            spans[name] = span
    return spans


def _only(outputs: Mapping[str, Any]) -> str:
    ranking = [name for name, array in outputs.items() if is_floating(to_numpy(array).dtype) and len(array.shape) > 0]
    if len(ranking) != 1:
        raise UsageError(
            "which output decides?", whose="--flips", why=f"the outputs are {', '.join(outputs)}",
            hint=f"--flip-output {next(iter(ranking), 'NAME')}",
        )  # fmt: skip
    return ranking[0]


def _change(value: float) -> str:
    return f"{value:.2g}" if math.isfinite(value) else "none was found"


def _apart(apart: Sequence[float], label: str, reference: str) -> str:
    """Describe the distance of ties."""
    finite = [value for value in apart if math.isfinite(value)]
    words = f"of {len(apart)} ties of {reference}, {label} has none at {len(apart) - len(finite)}"
    if not finite:
        return words
    far = f"ties of {label} and {reference} lie {float(np.median(finite)):.2g} apart, at most {max(finite):.2g}"
    return far if len(finite) == len(apart) else f"{far}; {words}"
