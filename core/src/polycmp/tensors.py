"""Names, types and shapes of tensors, and the feeds that consist of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from polycmp.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "DataSource",
    "Feed",
    "FeedPerRun",
    "LabelledFeed",
    "ModelDescription",
    "Outputs",
    "Shape",
    "Source",
    "TensorEntry",
    "TensorMetadata",
    "array_of_texts",
    "as_dtype",
    "check_feed",
    "describe_array",
    "dimension_key",
    "dtype_class",
    "dtype_name",
    "dtype_of",
    "format_shape",
    "is_floating",
    "is_low_bit",
    "is_size",
    "native",
    "number_info",
    "same_bits",
    "to_numpy",
    "whole_limits",
]

Shape = tuple["int | str", ...]
Feed = Mapping[str, Any]
#: What a model makes, by name.
Outputs = Mapping[str, Any]
#: Gives the feeds of a run for a model's inputs.
Source = Callable[["TensorMetadata"], Iterable[Feed]]


class LabelledFeed(dict[str, Any]):
    """A feed that says what it is. Reports then name what failed, and show the command that makes it alone.

    Args:
        arrays: Arrays by input name.
        label: Description of the feed: `large, seed 3, x:[2,8]`.
        repeat: The options that make this feed and no other, by their names on the command line without dashes:
            `{"stress-kinds": ["large"], "stress-seeds": [3]}`.
    """

    def __init__(self, arrays: Mapping[str, Any], label: str, repeat: Mapping[str, Any]) -> None:
        super().__init__(arrays)
        self.label = label
        self.repeat = repeat


class FeedPerRun(dict[str, Any]):
    """A feed that is another one for some of the runs, which go on from outputs of their own.

    Args:
        arrays: Arrays by input name, for all other runs, and for files.
        by_run: Such arrays by the label of a run.
    """

    def __init__(self, arrays: Mapping[str, Any], by_run: Mapping[str, Feed]) -> None:
        super().__init__(arrays)
        self.by_run = by_run


class DataSource:
    """Base of the sources of inputs that also say what the inputs are worth.

    Attributes:
        synthetic: The numbers are made up, and say nothing of real data: calibrating with them is worth a warning.
    """

    synthetic: bool = False

    @property
    def notes(self) -> Sequence[str]:
        """Notes on the feeds so far: the shapes that were chosen and the values that were drawn, with the reasons."""
        return ()

    def suggestion(self) -> str:
        """Return, as the command line takes them, shapes with which the model runs; empty if none are known."""
        return ""

    def __call__(self, inputs: TensorMetadata) -> Iterable[Feed]:
        """Return the feeds for a model's inputs, one per iteration."""
        raise NotImplementedError(type(self).__name__)

    def initial_feeds(self, inputs: TensorMetadata) -> Iterable[Feed]:
        """Return the feeds for a caller that runs the first of them and then asks for `alternative_feeds`."""
        return self(inputs)

    def alternative_feeds(self, inputs: TensorMetadata, feed: Feed, outputs: Feed) -> Iterable[Feed] | None:
        """Return other feeds where the first one did not reach the outputs; None to go on.

        Args:
            inputs: The model's inputs, as `initial_feeds` got them.
            feed: The first feed.
            outputs: Outputs of the reference for the first feed.
        """
        del inputs, feed, outputs
        return None


#: Names of element types that NumPy does not have, as ONNX and frameworks spell them -> as ml_dtypes spells them.
_LOW_BIT = {
    "bfloat16": "bfloat16",
    "bf16": "bfloat16",
    "float8e4m3fn": "float8_e4m3fn",
    "float8_e4m3fn": "float8_e4m3fn",
    "fp8": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8_e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8_e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
    "float8_e5m2fnuz": "float8_e5m2fnuz",
    "float8e8m0": "float8_e8m0fnu",
    "float8_e8m0fnu": "float8_e8m0fnu",
    "float4e2m1": "float4_e2m1fn",
    "float4_e2m1fn": "float4_e2m1fn",
    "int4": "int4",
    "uint4": "uint4",
    "int2": "int2",
    "uint2": "uint2",
}
_SPELLINGS = {"float": "float32", "double": "float64", "half": "float16", "fp16": "float16", "fp32": "float32"}


@cache
def _low_bit(name: str) -> np.dtype[Any] | None:
    import ml_dtypes

    attribute = _LOW_BIT.get(name)
    kind = getattr(ml_dtypes, attribute, None) if attribute else None
    return None if kind is None else np.dtype(kind)


def as_dtype(dtype: Any) -> np.dtype[Any]:
    """Return a NumPy dtype for anything that names an element type; strings are `object`.

    Args:
        dtype: A NumPy dtype or scalar type, or a name such as `float32`, `bfloat16`, `float8e4m3fn`, `int4`, `string`.

    Raises:
        DataError: No such element type is known here.
    """
    if isinstance(dtype, np.dtype):
        return np.dtype(object) if dtype.kind in "US" else dtype
    if isinstance(dtype, str):
        name = dtype.lower().removeprefix("tensor(").removesuffix(")")
        name = _SPELLINGS.get(name, name)
        if name in {"string", "str"}:
            return np.dtype(object)
        if name in _LOW_BIT:
            low_bit = _low_bit(name)
            if low_bit is None:
                raise DataError(f"the installed ml_dtypes lacks {name!r}", hint="pip install -U ml_dtypes")
            return low_bit
        dtype = name
    try:
        return as_dtype(np.dtype(dtype))
    except TypeError:
        names = [*_LOW_BIT, "float16", "float32", "float64", "int8", "int16", "int32", "int64", "bool", "string"]
        raise DataError(f"unknown element type {dtype!r}", why=did_you_mean(str(dtype), names)) from None


def is_low_bit(dtype: np.dtype[Any]) -> bool:
    """Return whether the type comes from ml_dtypes, so that NumPy alone cannot calculate with it exactly."""
    return dtype.type.__module__.startswith("ml_dtypes")


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Return whether the type holds real numbers with a fraction, low-bit ones included."""
    return dtype.kind == "f" or (is_low_bit(dtype) and "float" in dtype.name)


@cache  # NumPy puts the name of a type together each time
def dtype_class(dtype: np.dtype[Any]) -> str:
    """Classify an element type as `float`, `integer`, `bool`, `string` or `complex`."""
    if is_floating(dtype):
        return "float"
    if is_low_bit(dtype) and "complex" in dtype.name:
        return "complex"
    if dtype.kind in "iu" or is_low_bit(dtype):
        return "integer"
    return {"b": "bool", "c": "complex", "O": "string", "U": "string", "S": "string"}.get(dtype.kind, str(dtype.name))


def number_info(dtype: np.dtype[Any]) -> Any:
    """Return what `numpy.iinfo` says of a type of whole numbers, else what `numpy.finfo` does, of low-bit ones, too."""
    module: Any = np
    if is_low_bit(dtype):
        import ml_dtypes

        module = ml_dtypes
    return module.iinfo(dtype) if dtype_class(dtype) == "integer" else module.finfo(dtype)


def whole_limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the smallest and the largest number of a type of whole numbers."""
    info = number_info(dtype)
    return int(info.min), int(info.max)


@cache
def dtype_name(dtype: np.dtype[Any]) -> str:
    """Return the name to show: `string` for object arrays, else NumPy's own."""
    return "string" if dtype.kind in "OUS" else str(dtype.name)


@dataclass(frozen=True)
class TensorEntry:
    """One tensor as a model declares it; unpacks into `dtype, shape`.

    Attributes:
        dtype: Element type, or None if the model does not say.
        shape: Dimensions; an unknown one is a name or -1. None if not even the rank is known.
        min_shape: Smallest shape that the backend takes, where it says so.
        max_shape: Largest shape that the backend takes, where it says so.
        values: The numbers this tensor must hold, for a shape tensor whose content was given.
        range: Smallest and largest value that the model can take, where its graph says so.
        role: Use of the numbers in the model's graph, where that restricts their values:
            `number` where whole numbers are only calculated with, so that any will do; `divisor` where whole numbers
            are divided by them, and 0 makes no sense; `pixels` where the model itself brings values of 0 to 255 into
            the range that it was trained on.
        words: Texts that the model tells apart, where its graph shows them: any other means the same to it.
        optional: Whether the model runs without this input, which is something else than an empty array.
    """

    dtype: np.dtype[Any] | None
    shape: Shape | None
    min_shape: tuple[int, ...] | None = None
    max_shape: tuple[int, ...] | None = None
    values: tuple[int, ...] | None = None
    range: tuple[float, float] | None = None
    role: str = ""
    words: tuple[str, ...] = ()
    optional: bool = False

    def __iter__(self) -> Iterator[Any]:
        return iter((self.dtype, self.shape))

    def is_dynamic(self) -> bool:
        """Return whether a dimension, or the rank, is unknown."""
        return self.shape is None or any(not is_size(dim) for dim in self.shape)

    def static_shape(self, default: int = 1) -> tuple[int, ...]:
        """Return the shape with every unknown dimension replaced.

        Args:
            default: Size of an unknown dimension where no smallest or largest shape is known.
        """
        bound = self.min_shape or self.max_shape
        shape = () if self.shape is None else self.shape
        if bound is not None and len(bound) == len(shape):
            return tuple(dim if is_size(dim) else int(limit) for dim, limit in zip(shape, bound, strict=True))
        return tuple(dim if is_size(dim) else default for dim in shape)

    def accepts_shape(self, shape: Iterable[int]) -> bool:
        """Return whether an array of this shape fits: same rank, every known dimension equal."""
        dims = tuple(shape)
        if self.shape is None:
            return True
        return len(dims) == len(self.shape) and all(
            not is_size(declared) or declared == dim for declared, dim in zip(self.shape, dims, strict=True)
        )

    def __str__(self) -> str:
        dtype = "?" if self.dtype is None else dtype_name(self.dtype)
        return f"{dtype}{format_shape(self.shape)}"


def format_shape(shape: Iterable[int | str] | None) -> str:
    """Return a shape as text: `[1,3,h,w]`, `[…]` if the rank is unknown."""
    return "[…]" if shape is None else "[" + ",".join(str(dim) for dim in shape) + "]"


def is_size(dim: int | str | None) -> TypeGuard[int]:
    """Return whether a dimension is known, and not a name or -1."""
    return isinstance(dim, int) and dim >= 0


def dimension_key(name: str, axis: int, dim: int | str) -> str:
    """Return the key of an unknown dimension: its name, or its position if it has none.

    Args:
        name: The tensor's name.
        axis: Position of the dimension in the shape.
        dim: The dimension as declared: a name, or -1.
    """
    return dim if isinstance(dim, str) and dim else f"{name}\0{axis}"


class TensorMetadata(Mapping[str, TensorEntry]):
    """An ordered mapping from tensor name to `TensorEntry`."""

    def __init__(self, dct: Mapping[str, TensorEntry] | None = None) -> None:
        self._entries: dict[str, TensorEntry] = dict(dct or {})

    def add(
        self,
        name: str,
        dtype: Any,
        shape: Iterable[int | str | None] | None,
        min_shape: Iterable[int] | None = None,
        max_shape: Iterable[int] | None = None,
        docstring: str | None = None,
        optional: bool = False,
    ) -> TensorMetadata:
        """Add or replace one tensor and return self, so that calls chain.

        Args:
            name: The tensor's name.
            dtype: Anything that `as_dtype` takes, or None if unknown.
            shape: Dimensions, unknown ones as a name, -1 or None; None as a whole if the rank is unknown.
            min_shape: Smallest shape that the backend takes.
            max_shape: Largest shape that the backend takes.
            docstring: Accepted for programs written for other tools; nothing shows it.
            optional: Whether the model runs without this input.

        Raises:
            DataError: The name is no text.
        """
        del docstring
        if not isinstance(name, str):
            raise DataError(f"an input or output is called {name!r}, which is no text", hint="give it a name")
        dims = None if shape is None else tuple(-1 if dim is None else dim for dim in shape)
        self._entries[name] = TensorEntry(
            None if dtype is None else as_dtype(dtype),
            None if dims is None else tuple(dim if isinstance(dim, str) else int(dim) for dim in dims),
            None if min_shape is None else tuple(min_shape),
            None if max_shape is None else tuple(max_shape),
            optional=optional,
        )
        return self

    def update(self, other: Mapping[str, TensorEntry]) -> TensorMetadata:
        """Add or replace the tensors of another mapping and return self."""
        self._entries.update(other)
        return self

    @staticmethod
    def from_feed_dict(feed_dict: Feed) -> TensorMetadata:
        """Return the names, types and shapes of the arrays in a feed."""
        metadata = TensorMetadata()
        for name, array in feed_dict.items():
            metadata.add(name, dtype_of(array), tuple(array.shape))
        return metadata

    def plain(self) -> list[dict[str, Any]]:
        """Return keyword arguments of `add` for each tensor, as JSON can hold them."""
        return [
            {
                "name": name,
                "dtype": None if entry.dtype is None else dtype_name(entry.dtype),
                "shape": entry.shape,
                "min_shape": entry.min_shape,
                "max_shape": entry.max_shape,
                **({"optional": True} if entry.optional else {}),  # another release of polycmp may lack the word
            }
            for name, entry in self.items()
        ]

    def __getitem__(self, name: str) -> TensorEntry:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __str__(self) -> str:
        return "{" + ", ".join(name + _in_brackets(entry) for name, entry in self._entries.items()) + "}"

    __repr__ = __str__


def _in_brackets(entry: TensorEntry) -> str:
    """Format a tensor's type and shape as Polygraphy does: ` [dtype=float32, shape=(1, 3)]`."""
    facts = [] if entry.dtype is None else [f"dtype={dtype_name(entry.dtype)}"]
    facts += [] if entry.shape is None else [f"shape={tuple(entry.shape)}"]
    return f" [{', '.join(facts)}]" if facts else ""


@dataclass(frozen=True)
class ModelDescription:
    """Description of a model file before anything is loaded for running.

    Attributes:
        inputs: Inputs of the model.
        outputs: Outputs of the model, as they will be after the loader's options.
        tensors: Names of all tensors inside, if known.
    """

    inputs: TensorMetadata
    outputs: TensorMetadata
    tensors: tuple[str, ...] = ()


def dtype_of(array: Any) -> np.dtype[Any]:
    """Return the element type of a NumPy array, a torch tensor, or anything with a `dtype` that names one."""
    dtype = getattr(array, "dtype", None)
    if isinstance(dtype, np.dtype):
        return as_dtype(dtype)
    return as_dtype(str(dtype).rpartition(".")[2])


def to_numpy(array: Any) -> NDArray[Any]:
    """Return a plain NumPy array that shares memory with the given one where that is possible.

    Subclasses of NumPy's array are taken off: they may bring a `==` and arithmetic of their own.
    Understands NumPy arrays, torch tensors on any device (bfloat16 too), objects with `numpy()`, DLPack or
    `__array__`, scalars and lists.

    Raises:
        DataError: It is a masked array, whose mask would be lost.
    """
    if isinstance(array, np.ndarray):
        return array if type(array) is np.ndarray else _without_subclass(array)
    if hasattr(array, "detach") and hasattr(array, "cpu"):
        tensor = array.detach().cpu()
        if hasattr(tensor, "resolve_conj"):  # conjugates and negatives that torch puts off until they are read
            tensor = tensor.resolve_conj().resolve_neg()
        name = str(tensor.dtype).rpartition(".")[2]
        if name in _LOW_BIT:
            import torch

            width = {1: torch.uint8, 2: torch.int16}[tensor.element_size()]
            raw = tensor.contiguous().view(width).numpy()
            return np.asarray(raw.view(as_dtype(name)))
        return np.asarray(tensor.numpy())
    if hasattr(array, "numpy") and callable(array.numpy):
        return np.asarray(array.numpy())
    return np.asarray(array)


def _without_subclass(array: NDArray[Any]) -> NDArray[Any]:
    if np.ma.is_masked(array):
        raise DataError(
            "it is a masked array, whose mask would be lost", hint="fill in what is masked: array.filled(VALUE)"
        )
    return np.asarray(array)


def describe_array(name: str, array: NDArray[Any]) -> dict[str, Any]:
    """Return name, type and shape of an array as JSON can hold them; of texts under "strings" all of it.

    Args:
        name: The name.
        array: Numbers, truth values or texts.
    """
    described: dict[str, Any] = {"name": name, "dtype": dtype_name(array.dtype), "shape": list(array.shape)}
    if array.dtype.kind in "OUS":
        described["strings"] = [_text(item) for item in array.reshape(-1).tolist()]
    return described


def array_of_texts(described: Mapping[str, Any]) -> NDArray[Any]:
    """Return the array of texts that `describe_array` described."""
    texts: NDArray[Any] = np.array(described["strings"], dtype=object).reshape(described["shape"])
    return texts


def _text(item: Any) -> str:
    return item.decode("utf-8", "surrogateescape") if isinstance(item, bytes) else str(item)


def same_bits(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Return whether two arrays have the same type, shape and bits; texts are compared by what they say."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.hasobject:
        return bool(np.array_equal(one, other))
    return bool(np.array_equal(_bytes(one), _bytes(other)))


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def native(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in the byte order of this machine, copied only where it has another."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def check_feed(feed: Feed, inputs: TensorMetadata) -> None:
    """Check that a feed has exactly the inputs' names, types and shapes; optional inputs may be left out.

    Raises:
        DataError: It does not; the text names the input and shows both sides.
    """
    missing = [name for name, entry in inputs.items() if name not in feed and not entry.optional]
    extra = [name for name in feed if name not in inputs]
    if missing:
        raise DataError(
            f"no data for input {missing[0]!r}",
            why=f"the feed holds {sorted(feed) or 'nothing'}",
            hint=f"the model wants {inputs}",
        )
    if extra:
        raise DataError(f"the model has no input {extra[0]!r}", why=did_you_mean(extra[0], inputs))
    for name, entry in inputs.items():
        if name not in feed:
            continue
        value = feed[name]
        if isinstance(value, int):  # a raw device pointer: its owner vouches for it
            continue
        dtype = dtype_of(value)
        if entry.dtype is not None and dtype != entry.dtype:
            raise DataError(
                f"input {name!r} holds {dtype_name(dtype)}, the model wants {dtype_name(entry.dtype)}",
                hint=f"convert it, for example feed[{name!r}].astype({dtype_name(entry.dtype)!r})",
            )
        if not entry.accepts_shape(value.shape):
            raise DataError(
                f"input {name!r} has shape {format_shape(value.shape)}, the model wants {format_shape(entry.shape)}"
            )
