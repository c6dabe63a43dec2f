"""Sizes for dimensions that a model leaves open: from its operators, from what is common, tried on a quick backend."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice, product
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp._inputs import SizedInputs
from polycmp.data.dimensions import USUAL, OpenDimension, filled, open_dimensions
from polycmp.data.input_pairs import pair_inputs, renamed
from polycmp.errors import DataError
from polycmp.tensors import Feed, TensorEntry, TensorMetadata, dtype_class, format_shape

if TYPE_CHECKING:
    from polycmp.model import Model
    from polycmp.plugins import Registry
    from polycmp.runs.resolved_backend import ResolvedBackend
    from polycmp.runs.trial import Arrays, Trial
    from polycmp.spec import SizeHint

_LOG = logging.getLogger("polycmp.data")
#: Shapes that are tried at most; by count and not by time, so that a busy machine chooses the same.
MOST = 40
#: Sizes that inputs of each kind have in models that people publish, the likeliest to work first: multiples of 32 and
#: classifiers' and detectors' sizes for pictures, windows of speech and audio models for sequences.
COMMON: Mapping[str, tuple[int, ...]] = {
    "batch": (1,),
    "sequence": (8, 16, 32, 64, 128, 512, 576, 1024, 4096, 16000, 1),
    "image": (64, 224, 32, 48, 128, 256, 299, 320, 416, 512, 640),
    "": (8, 16, 32, 64, 128, 512, 224, 1024, 4096, 16000, 1),
}

Try = Callable[[TensorMetadata], "tuple[str, Arrays]"]
Sizes = Mapping[str, "tuple[int, ...]"]


class ShapeSearch:
    """Gives sizes to open dimensions.

    A batch stays small. Where only whole numbers have other open dimensions, as in language models, the usual sizes
    are taken; else they are tried on the quickest backend there is, until one works.

    Args:
        backends: The backends of the run.
        registry: The plugins.
    """

    def __init__(self, backends: Sequence[ResolvedBackend], registry: Registry) -> None:
        self._backends = backends
        self._registry = registry

    def __call__(
        self,
        inputs: TensorMetadata,
        make_feed: Callable[[TensorMetadata], Feed],
        wanted: Sizes | None = None,
        *,
        only_demanded: bool = False,
    ) -> SizedInputs:
        """Return the inputs with sizes, and in words where those come from.

        Args:
            inputs: The inputs.
            make_feed: Makes a feed to try sizes on.
            wanted: Sizes to try before the common ones: `image` for heights and widths, `series` for the length of
                what has no other dimension but a batch.
            only_demanded: Leave dimensions open of which operators demand nothing, for a data loader with sizes of its
                own; of which they demand a least size alone get that as their limit. A size that only one
                operator has is none of the model's: it may be a batch that an export froze.
        """
        dimensions = open_dimensions(inputs)
        if not dimensions:
            return SizedInputs(inputs)
        from polycmp.runs.trial import open_trial

        hints = self._hints(inputs, dimensions)
        if only_demanded:
            strided = {key: hint for key, hint in hints.items() if hint.multiple > 1}
            sized = self(inputs, make_feed).inputs if strided else inputs
            places = {key: dimensions[key].places[0] for key in strided}
            fixed = {key: sized[name].static_shape()[axis] for key, (name, axis) in places.items()}
            kept = filled(_limited(inputs, dimensions, hints), fixed)
            return SizedInputs(kept, _note(inputs, kept, _reasons(strided.values())) if strided else "")
        usual = filled(inputs, {key: dim.usual for key, dim in dimensions.items()})
        if not hints and all(dim.kind == "batch" or dim.index for dim in dimensions.values()):
            return SizedInputs(usual, _note(inputs, usual, "the default where a model leaves dimensions open"))
        first = {key: _wanted(dim, inputs, wanted or {}) for key, dim in dimensions.items()}
        sizes = chain(_with_cache(dimensions, inputs), _candidates(dimensions, hints, first))
        candidates = [filled(inputs, item) for item in islice(sizes, MOST)]
        with open_trial(self._backends, self._registry, inputs) as trial:
            if trial is None:
                why = _reasons(hints.values()) or "the default where a model leaves dimensions open"
                return SizedInputs(candidates[0], _note(inputs, candidates[0], f"{why}; not tried"))
            return _first_working(inputs, candidates, lambda sized: _problem(trial, make_feed, sized), hints)

    def _hints(self, inputs: TensorMetadata, dimensions: Mapping[str, OpenDimension]) -> dict[str, SizeHint]:
        """Return the constraints that operators put on dimensions, by the key of each dimension."""
        models = {backend.model.path: backend.model for backend in self._backends}.values()
        sizes_by_model = [sizes for model in models if (sizes := _sizes(model, inputs)) is not None]
        joined = {}
        for key, dim in dimensions.items():
            some = [sizes[place] for sizes in sizes_by_model for place in dim.places if place in sizes]
            if dim.kind == "batch":  # it stays small, whatever would fill every operator
                some = [hint for hint in some if hint.likely]
            if some:
                joined[key] = max(some, key=lambda hint: (bool(hint.likely), hint.least, hint.multiple))
        return joined


def _limited(
    inputs: TensorMetadata, dimensions: Mapping[str, OpenDimension], hints: Mapping[str, SizeHint]
) -> TensorMetadata:
    """Return the inputs with the least sizes that operators demand among their limits."""
    least = {place: hint.least for key, hint in hints.items() for place in dimensions[key].places if hint.least > 1}
    limited = {}
    for name, entry in inputs.items():
        axes = range(len(entry.shape or ()))
        lower = (
            entry.min_shape if entry.min_shape is not None and len(entry.min_shape) == len(axes) else (1,) * len(axes)
        )
        low = tuple(max(lower[axis], least.get((name, axis), 1)) for axis in axes)
        limited[name] = replace(entry, min_shape=low) if any((name, axis) in least for axis in axes) else entry
    return TensorMetadata(limited)


def _sizes(model: Model, inputs: TensorMetadata) -> Mapping[tuple[str, int], SizeHint] | None:
    """Return the sizes that a model's operators ask of its inputs, by the given names; None if they are not known."""
    hints = model.hints()
    if hints is None:
        return None
    described = model.describe()
    names = pair_inputs(described.inputs, inputs).names if described is not None else {}
    sizes = hints.sizes(renamed(inputs, {name: described_name for described_name, name in names.items()}))
    return {(names.get(name, name), axis): hint for (name, axis), hint in sizes.items()}


def _problem(trial: Trial, make_feed: Callable[[TensorMetadata], Feed], inputs: TensorMetadata) -> tuple[str, Arrays]:
    """Explain why inputs do not run, or why their outputs are no good; empty if they are, with the outputs."""
    try:
        feed = make_feed(inputs)
    except DataError as error:  # the data loader has nothing for inputs of these sizes
        return error.what, {}
    arrays = trial.run(feed)
    if isinstance(arrays, str):
        return arrays, {}
    for name, array in arrays.items():
        if array.size == 0:
            return f"{_DEGENERATE}output {name!r} is empty", arrays
        if dtype_class(array.dtype) == "float" and np.isnan(array.astype(np.float32)).any():
            return f"{_DEGENERATE}output {name!r} holds NaN", arrays
    return "", arrays


#: Marks shapes that run, and yet leave nothing to compare; they are taken if no others are found.
_DEGENERATE = "it runs, but "


#: Inputs that hold keys and values of earlier tokens, as exporters name them.
_CACHE = re.compile(r"past|cache|present", re.IGNORECASE)


def _with_cache(dimensions: Mapping[str, OpenDimension], inputs: TensorMetadata) -> Iterator[dict[str, int]]:
    """Yield the sizes of a decoder with a cache: as many tokens in each part, and a mask over those and new ones."""
    cached = {
        key for key, dim in dimensions.items()
        if dim.kind != "batch" and not dim.index and all(_CACHE.search(name) for name, _ in dim.places)
    }  # fmt: skip
    fed = next((name for name, entry in inputs.items() if _is_words(name, entry)), None)
    if not cached or fed is None:
        return
    new = (inputs[fed].shape or ())[1]
    ahead = next((key for key, dim in dimensions.items() if (fed, 1) in dim.places), None)
    length = dimensions[ahead].usual if ahead is not None else new
    sizes = {key: dim.usual for key, dim in dimensions.items()}
    sizes |= {key: dimensions[key].limited(USUAL["sequence"]) for key in cached}
    over = [key for key, dim in dimensions.items() if any("mask" in name.lower() and axis for name, axis in dim.places)]
    if isinstance(length, int):
        sizes |= {
            key: dimensions[key].limited(USUAL["sequence"] + length) for key in over if key not in {ahead, *cached}
        }
    yield sizes


def _is_words(name: str, entry: Any) -> bool:
    whole = entry.dtype is not None and dtype_class(entry.dtype) == "integer"
    return whole and len(entry.shape or ()) == 2 and "mask" not in name.lower()


def _candidates(
    dimensions: Mapping[str, OpenDimension], hints: Mapping[str, SizeHint], first: Sizes
) -> Iterator[dict[str, int]]:
    """Yield sizes to try: dimensions of one kind alike first, then what single operators demand in all combinations."""
    ladders = {key: _ladder(dim, hints.get(key), first[key]) for key, dim in dimensions.items()}
    longest = max(map(len, ladders.values()))
    seen: list[dict[str, int]] = []
    plain = [key for key, dim in dimensions.items() if not dim.name and not dim.kind and key not in hints]
    together = (
        # What says nothing of itself may also be the batch of a state.
        {key: dim if key not in plain or not one else dimensions[key].limited(1) for key, dim in sizes.items()}
        for turn in range(longest)
        for sizes in [{key: ladder[min(turn, len(ladder) - 1)] for key, ladder in ladders.items()}]
        for one in (False, True)
    )
    mixed = (dict(zip(ladders, sizes, strict=True)) for sizes in product(*(ladder[:5] for ladder in ladders.values())))
    for source in (together, mixed):
        for sizes in source:
            if sizes not in seen:
                seen.append(sizes)
                yield sizes


def _wanted(dim: OpenDimension, inputs: TensorMetadata, wanted: Sizes) -> tuple[int, ...]:
    """Select the requested sizes of a dimension."""
    if dim.kind == "image":
        return wanted.get("image", ())
    series = dim.kind != "batch" and not dim.index and all(_is_series(inputs[name], axis) for name, axis in dim.places)
    return wanted.get("series", ()) if series else ()


def _is_series(entry: TensorEntry, axis: int) -> bool:
    """Return whether an input is a row of numbers along an axis, or a batch of such rows."""
    shape = entry.shape or ()
    return len(shape) == 1 or (axis > 0 and all(dim == 1 for place, dim in enumerate(shape) if place not in {0, axis}))


def _ladder(dim: OpenDimension, hint: SizeHint | None, first: Sequence[int]) -> list[int]:
    common = (*first, *COMMON[dim.kind])
    if dim.index and dim.kind != "batch":
        common = (dim.usual, *common)
    if hint is None:
        return list(dict.fromkeys(dim.limited(size) for size in common))
    fitting = [size for size in common if size >= hint.least and size % hint.multiple == 0]
    least = -(-max(hint.least, 1) // hint.multiple) * hint.multiple
    # Twice the least is tried before the least itself: with that, some operator has a single element to work on.
    sizes = [
        *hint.likely,
        *fitting[:2],
        2 * least,
        *fitting[2:],
        least,
        *(size for size in common if size >= hint.least),
    ]
    return list(dict.fromkeys(dim.limited(size) for size in sizes))


def _first_working(
    inputs: TensorMetadata, candidates: Sequence[TensorMetadata], problem: Try, hints: Mapping[str, SizeHint]
) -> SizedInputs:
    fallback, last = None, ""
    for sized in candidates:
        reason, outputs = problem(sized)
        if not reason:
            why = _reasons(hints.values()) or "chosen by what is common"
            return SizedInputs(sized, _note(inputs, sized, f"{why}; tried, and it works"), True, outputs)
        if reason.startswith(_DEGENERATE):
            fallback = fallback or (sized, reason)
        last = last or reason
    if fallback is not None:
        single = [name for name, entry in fallback[0].items() if math.prod(entry.static_shape()) == 1]
        options = f"--val-range {single[0]}:[LOW,HIGH]" if single else ""
        advice = f"give values for {single[0]!r} with {options}, or" if single else "give"
        return SizedInputs(
            fallback[0], _note(inputs, fallback[0], f"{fallback[1]}; {advice} other shapes with --input-shapes")
        )
    first = candidates[0]
    shapes = " ".join(f"{name}:{format_shape(first[name].shape)}" for name in _changed(inputs, first))
    _LOG.debug("no shape works: %s", last)
    note = f"no shape was found that works, {len(candidates)} were tried, the first: {shapes} ({last})"
    return SizedInputs(first, f"{note}; give one that does: --input-shapes {shapes}")


def _changed(inputs: TensorMetadata, sized: TensorMetadata) -> list[str]:
    return [name for name, entry in inputs.items() if entry.shape != sized[name].shape]


def _note(inputs: TensorMetadata, sized: TensorMetadata, why: str) -> str:
    shapes = " ".join(f"{name}:{format_shape(sized[name].shape)}" for name in _changed(inputs, sized))
    return f"{shapes}, {why}"


def _reasons(hints: Iterable[Any]) -> str:
    return " and ".join(dict.fromkeys(hint.why for hint in hints if hint.why))
