"""Optimization profiles: the ranges of shapes that an engine is built for."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from polycmp.errors import BackendError, UsageError, describe_exception, did_you_mean
from polycmp.options import is_named, parse_named_shapes, pick, unknown_names
from polycmp_trt.build.network_parts import network_inputs

if TYPE_CHECKING:
    import tensorrt as trt

__all__ = ["Profile", "ShapeTuple", "profiles_from_options"]

_LOG = logging.getLogger("polycmp.trt")
Shape = tuple[int, ...]


class ShapeTuple(NamedTuple):
    """The range of one input: shapes, or for a shape tensor the values in it.

    Attributes:
        min: The smallest.
        opt: The one to be fastest at.
        max: The largest.
    """

    min: Shape
    opt: Shape
    max: Shape


@dataclass(init=False, repr=False, eq=False)
class Profile(MutableMapping[str, ShapeTuple]):
    """One optimization profile: a mapping from input names, or patterns of names, to `ShapeTuple`.

    Its `repr` is the source code that makes it.
    """

    _shapes: dict[str, ShapeTuple]

    def __init__(self, dct: Mapping[str, Sequence[Iterable[int]]] | None = None) -> None:
        self._shapes = {}
        for name, (smallest, best, largest) in (dct or {}).items():
            self.add(name, smallest, best, largest)

    def add(self, name: str, min: Iterable[int], opt: Iterable[int], max: Iterable[int]) -> Profile:
        """Set the range of one input and return the profile, so that calls chain.

        Args:
            name: The input, or a pattern with `*`, `?` or `[…]`.
            min: Smallest shape, or smallest values of a shape tensor.
            opt: The one to be fastest at.
            max: Largest.
        """
        self[name] = ShapeTuple(_dims(min), _dims(opt), _dims(max))
        return self

    def fill_defaults(self, network: trt.INetworkDefinition, default_shape_value: int = 1) -> Profile:
        """Add a range for each dynamic input that has none yet, and return the profile.

        A warning names every range that was made up.

        Args:
            network: A `tensorrt.INetworkDefinition`.
            default_shape_value: Size of unknown dimensions, and value of shape tensors.
        """
        for tensor in network_inputs(network):
            if pick(self, tensor.name, None) is not None:
                continue
            shape = _dims(tensor.shape)
            if tensor.is_shape_tensor:
                dims = (default_shape_value,) * (max(shape[0], 1) if shape else 1)
                what = "values"
            elif any(dim < 0 for dim in shape):
                dims = tuple(default_shape_value if dim < 0 else dim for dim in shape)
                what = "shape"
            else:
                continue
            _LOG.warning(
                "input %r: no range of %ss given, the engine will take exactly %s; say more with --trt-min-shapes, "
                "--trt-opt-shapes and --trt-max-shapes %s:[…]",
                tensor.name,
                what.removesuffix("s"),
                list(dims),
                tensor.name,
            )
            self.add(tensor.name, dims, dims, dims)
        return self

    def to_trt(self, builder: trt.Builder, network: trt.INetworkDefinition) -> trt.IOptimizationProfile:
        """Return a `tensorrt.IOptimizationProfile` for a network.

        Raises:
            UsageError: The profile names an input that the network lacks, or a range does not fit the input.
            BackendError: TensorRT refuses the profile.
        """
        tensors = network_inputs(network)
        self._check_names([tensor.name for tensor in tensors])
        profile = builder.create_optimization_profile()
        for tensor in tensors:
            bounds = pick(self, tensor.name, None)
            if bounds is None:
                continue
            _check_bounds(tensor, bounds)
            setter = profile.set_shape_input if tensor.is_shape_tensor else profile.set_shape
            try:
                setter(tensor.name, *bounds)
            except (ValueError, RuntimeError, TypeError) as error:
                raise BackendError(
                    f"TensorRT refuses the range of input {tensor.name!r}: {_text(bounds)}",
                    whose="trt",
                    why=describe_exception(error),
                ) from error
        if not profile:
            raise BackendError(
                "TensorRT calls the optimization profile invalid", whose="trt", why=f"it was {self}", hint=_HINT
            )
        return profile

    def _check_names(self, names: list[str]) -> None:
        for key in unknown_names(self, names):
            raise UsageError(
                f"the optimization profile names an input {key!r} that the network does not have",
                whose="trt",
                why=did_you_mean(key, names),
            )

    def copy(self) -> Profile:
        """Return a profile of its own with the same ranges."""
        return Profile(self._shapes)

    def __getitem__(self, name: str) -> ShapeTuple:
        return self._shapes[name]

    def __setitem__(self, name: str, shapes: Sequence[Iterable[int]]) -> None:
        smallest, best, largest = shapes
        self._shapes[name] = ShapeTuple(_dims(smallest), _dims(best), _dims(largest))

    def __delitem__(self, name: str) -> None:
        del self._shapes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._shapes)

    def __len__(self) -> int:
        return len(self._shapes)

    def __repr__(self) -> str:
        calls = (f".add({name!r}, min={s.min}, opt={s.opt}, max={s.max})" for name, s in self._shapes.items())
        return "Profile()" + "".join(calls)

    def __str__(self) -> str:
        return "{" + ", ".join(f"{name}: {_text(shapes)}" for name, shapes in self._shapes.items()) + "}"


_HINT = "give --trt-min-shapes, --trt-opt-shapes and --trt-max-shapes for every dynamic input"


def _dims(shape: Iterable[int]) -> Shape:
    try:
        return tuple(int(dim) for dim in shape)
    except ValueError:  # TensorRT's shape of unknown rank has a negative length
        return ()


def _text(bounds: ShapeTuple) -> str:
    return f"min={list(bounds.min)}, opt={list(bounds.opt)}, max={list(bounds.max)}"


def _check_bounds(tensor: trt.ITensor, bounds: ShapeTuple) -> None:
    problem = ""
    if len({len(dims) for dims in bounds}) != 1:
        problem = "the three have different numbers of dimensions"
    elif any(not low <= best <= high for low, best, high in zip(*bounds, strict=True)):
        problem = "each dimension must satisfy min <= opt <= max"
    elif not tensor.is_shape_tensor:
        shape = _dims(tensor.shape)
        if len(shape) != len(bounds.opt):
            problem = f"the model declares {len(shape)} dimensions: {list(shape)}"
        elif any(known >= 0 and {known} != set(dims) for known, *dims in zip(shape, *bounds, strict=True)):
            problem = f"the model fixes dimensions: {list(shape)}"
    if problem:
        raise UsageError(f"bad range for input {tensor.name!r}: {_text(bounds)}", whose="trt", why=problem)


def profiles_from_options(
    min_shapes: Sequence[Sequence[str]],
    opt_shapes: Sequence[Sequence[str]],
    max_shapes: Sequence[Sequence[str]],
    input_shapes: Mapping[str, Iterable[int]] | None = None,
) -> list[Profile]:
    """Return the profiles that options describe: the k-th group of each kind forms profile k.

    What one kind leaves out is taken from `input_shapes` where that fits between the others, else from the nearest
    bound given; a warning says which range came of it. Nothing passes from one profile to the next.

    Args:
        min_shapes: Groups of `NAME:SHAPE`.
        opt_shapes: Groups of `NAME:SHAPE`.
        max_shapes: Groups of `NAME:SHAPE`.
        input_shapes: Shapes that inference will use, by name or pattern.

    Returns:
        The profiles; one if only `input_shapes` are given, none if nothing is.

    Raises:
        UsageError: A text is no `NAME:SHAPE`, or bounds of one input differ in their number of dimensions.
    """
    shapes = {name: _dims(shape) for name, shape in (input_shapes or {}).items()}
    count = max(len(min_shapes), len(opt_shapes), len(max_shapes), 1 if shapes else 0)
    return [
        _one_profile([_group(groups, index) for groups in (min_shapes, opt_shapes, max_shapes)], shapes, index)
        for index in range(count)
    ]


def _group(groups: Sequence[Sequence[str]], index: int) -> dict[str, Shape]:
    return parse_named_shapes(groups[index]) if index < len(groups) else {}


def _one_profile(kinds: list[dict[str, Shape]], input_shapes: Mapping[str, Shape], index: int) -> Profile:
    profile = Profile()
    for name in dict.fromkeys(name for kind in kinds for name in kind):
        shapes = tuple(kind.get(name) for kind in kinds)
        bounds = _complete(name, shapes, pick(input_shapes, name, ()))
        if None in shapes:
            _LOG.warning("input %r: profile %d is incomplete, taken as %s", name, index, _text(bounds))
        profile.add(name, *bounds)
    for name, shape in input_shapes.items():
        if not any(is_named(known, [name]) for known in profile):
            profile.add(name, shape, shape, shape)
    return profile


def _complete(name: str, shapes: tuple[Shape | None, ...], inference_shape: Shape) -> ShapeTuple:
    low, best, high = shapes
    ranks = {len(dims) for dims in shapes if dims is not None}
    if len(ranks) > 1:
        raise UsageError(
            f"the range of input {name!r} mixes shapes of {' and '.join(map(str, sorted(ranks)))} dimensions",
            whose="trt",
        )
    inference_shape = inference_shape if len(inference_shape) in ranks else ()
    best = best or _between(low, inference_shape, high) or high or low or ()
    low = low or _between(None, inference_shape, best) or best
    high = high or _between(best, inference_shape, None) or best
    return ShapeTuple(low, best, high)


def _between(low: Shape | None, dims: Shape, high: Shape | None) -> Shape | None:
    if not dims:
        return None
    above = low is None or all(one <= other for one, other in zip(low, dims, strict=True))
    below = high is None or all(one <= other for one, other in zip(dims, high, strict=True))
    return dims if above and below else None
