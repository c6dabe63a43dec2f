"""Real samples in the place of random numbers that do not reach a model's outputs, tried on a quick backend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from polycmp.runs import Arrays, SampleFeeds, ShapeSearch, Silent, Trial, open_trial
from polycmp.sentences import listed
from polycmp.tensors import Feed, TensorEntry, TensorMetadata, dtype_class, format_shape
from polycmp_samples.fitting import fillings
from polycmp_samples.loader import make_sample, remarks
from polycmp_samples.options import PICTURES, SIZES, SampleOptions

if TYPE_CHECKING:
    from polycmp.plugins import Registry
    from polycmp.runs import ResolvedBackend

#: In this order ranges of pictures' values are tried; the first in which a picture reaches all outputs is taken.
SCALES = ("0..1", "imagenet", "0..255")
PICTURE_NAMES = tuple(PICTURES)
_PLAIN = SampleOptions()


@dataclass(frozen=True)
class _TriedSamples:
    """Samples that were tried.

    Attributes:
        options: With which options the data loader `sample` makes them.
        inputs: The inputs, with their sizes.
        silent: Number of outputs that the samples do not reach.
        spread: Distance between the numbers of the outputs.
    """

    options: SampleOptions
    inputs: TensorMetadata
    silent: int
    spread: float


class SampleSearch:
    """Looks for samples that reach more of the outputs than random numbers do.

    Args:
        backends: The backends of the run.
        registry: The plugins.
    """

    def __init__(self, backends: Sequence[ResolvedBackend], registry: Registry) -> None:
        self._backends = backends
        self._registry = registry
        self._sizes = ShapeSearch(backends, registry)

    def __call__(
        self, inputs: TensorMetadata, feed: Feed, iterations: int, silent_outputs: Silent, /
    ) -> SampleFeeds | None:
        """Return samples that reach more of the outputs; None to go on with what was drawn."""
        drawn = TensorMetadata({n: replace(e, shape=tuple(feed[n].shape)) for n, e in inputs.items() if n in feed})
        if len(drawn) < len(inputs) or not _fits(drawn):
            return None
        with open_trial(self._backends, self._registry, inputs, plain=True) as trial:
            if trial is None:
                return None
            outputs = trial.run(feed)  # of the model's own outputs: those given may be of tensors inside it
            silent = [] if isinstance(outputs, str) else silent_outputs(outputs)
            best = _best(self._tried(trial, inputs, drawn, silent_outputs), len(silent)) if silent else None
        if best is None:
            return None
        options = replace(best.options, iterations=iterations or 1)
        notes = _notes(best, options, silent)
        return SampleFeeds(lambda asked: self._feeds(asked, best.inputs, options), notes)

    def _tried(
        self, trial: Trial, inputs: TensorMetadata, drawn: TensorMetadata, silent_outputs: Silent
    ) -> Iterator[_TriedSamples]:
        """Yield the best trial of each range of values, first in sizes that suit samples, then in those drawn."""
        suited = self._sizes(inputs, _first, SIZES)
        for sized in (suited.inputs, drawn) if suited.works else (drawn,):
            for candidates in _candidates(sized):
                tried = []
                for options in candidates:
                    outputs = trial.run(_first(sized, options))
                    if not isinstance(outputs, str):
                        tried.append(_TriedSamples(options, sized, len(silent_outputs(outputs)), _spread(outputs)))
                if tried:
                    yield min(tried, key=lambda item: (item.silent, -item.spread))

    def _feeds(self, asked: TensorMetadata, sized: TensorMetadata, options: SampleOptions) -> Iterable[Feed]:
        """Return the feeds for inputs, in the sizes that were tried as far as these fit."""
        fits = all(name in sized and entry.accepts_shape(sized[name].static_shape()) for name, entry in asked.items())
        feeds = make_sample(options)(sized if fits else self._sizes(asked, _first, SIZES).inputs)
        return map(dict, feeds)  # without the options that repeat it: the run's own command makes it again


def _first(inputs: TensorMetadata, options: SampleOptions = _PLAIN) -> Feed:
    return next(make_sample(options)(inputs))


def _fits(inputs: TensorMetadata) -> bool:
    """Return whether a picture or a sound fits an input; ids that were drawn are as good as those of a sentence."""
    filling_of = fillings(inputs, _PLAIN)
    return any(filling_of[name].real and (filling_of[name].pictures or _is_float(inputs[name])) for name in filling_of)


def _is_float(entry: TensorEntry) -> bool:
    return entry.dtype is None or dtype_class(entry.dtype) == "float"


def _candidates(inputs: TensorMetadata) -> Iterator[list[SampleOptions]]:
    """Yield options to try, all pictures in one range of values after the other."""
    shown = [name for name, filling in fillings(inputs, _PLAIN).items() if filling.pictures]
    orders = [(*PICTURE_NAMES[turn:], *PICTURE_NAMES[:turn]) for turn in range(len(PICTURE_NAMES))] if shown else []
    free = any(_is_float(inputs[name]) and inputs[name].role != "pixels" for name in shown)
    for scale in SCALES if free else ("",):
        yield [SampleOptions(pictures=order, scale=scale, iterations=1) for order in orders] or [_PLAIN]


def _best(tried: Iterable[_TriedSamples], silent: int) -> _TriedSamples | None:
    """Return the first that reaches all outputs, or else that which reaches most; None where none reaches more."""
    best = None
    for samples in tried:
        if samples.silent < (silent if best is None else best.silent):
            best = samples
        if samples.silent == 0:
            break
    return best


def _spread(arrays: Arrays) -> float:
    """Return the sum of the standard deviations of all outputs of real numbers."""
    with np.errstate(all="ignore"):
        spreads = [
            float(np.std(array.astype(np.float64)))
            for array in arrays.values()
            if dtype_class(array.dtype) == "float" and array.size
        ]
    return sum(spread for spread in spreads if np.isfinite(spread))


def _notes(best: _TriedSamples, options: SampleOptions, silent: Sequence[str]) -> tuple[str, ...]:
    shown = listed(silent, 3)
    many = "outputs" if len(silent) > 1 else "output"
    words = remarks(options, best.inputs)
    shapes = {name: f"{name}:{format_shape(best.inputs[name].shape)}" for name in words}
    texts = (
        f"{', '.join(shapes[name] for name in words if words[name] == text)}: {text}"
        for text in dict.fromkeys(words.values())
    )
    why = f"random numbers do not reach the {many} {shown} (next to nothing, or the same number everywhere); instead:"
    first, *more = texts
    return (f"{why} {first}", *more)
