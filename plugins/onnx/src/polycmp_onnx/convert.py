"""Converting a model to float16 or bfloat16."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polycmp.errors import ModelError, PolycmpError, UsageError, describe_exception, did_you_mean
from polycmp.loader import immediate, keyword_aliases
from polycmp.sentences import shortened
from polycmp_onnx.graph import GraphView, graphs_within, nodes_within, opset_of, tensor_bytes
from polycmp_onnx.load import OnnxLoader, own_model

if TYPE_CHECKING:
    from onnx import ModelProto

    from polycmp_onnx.load import ModelSource

_LOG = logging.getLogger("polycmp")
_LARGEST, _SMALLEST = 65504.0, 2.0**-24
#: Weights that a warning names.
_NAMED = 3
#: The first opset whose arithmetic knows bfloat16.
_BF16_OPSET = 13


class _Converting(OnnxLoader):
    def __init__(self, model: ModelSource, keep_float: Sequence[str] = ()) -> None:
        self.model = model
        self.keep_float = tuple(keep_float)


@keyword_aliases("copy")
class ConvertToFp16(_Converting):
    """Turns the float32 inside of a model into float16; its inputs and outputs keep their types.

    Weights beyond what float16 holds (65504, and 2**-24 towards zero) become the nearest number that it does hold.
    Operators that ONNX does not let be float16 stay in float32, and so does what computes sizes for them.

    Args:
        model: A model, or a callable that returns one; it is not changed.
        keep_float: Operator types, and names or patterns of nodes, that keep calculating in float32.
    """

    def call_impl(self) -> ModelProto:
        """Return the model in float16.

        Raises:
            ModelError: The conversion failed.
            UsageError: Nothing in the model is what `keep_float` names.
        """
        return _narrowed(own_model(self.model), "float16", self.keep_float)


class ConvertToBf16(_Converting):
    """Turns the float32 inside of an ONNX model into bfloat16; its inputs and outputs keep their types.

    Args:
        model: An `onnx.ModelProto`, or a callable that returns one; it is not changed.
        keep_float: Operator types, and names or patterns of nodes, that keep calculating in float32.
    """

    def call_impl(self) -> ModelProto:
        """Return the model in bfloat16.

        Raises:
            ModelError: It cannot be brought to an opset that knows bfloat16, or the conversion failed.
            UsageError: Nothing in the model is what `keep_float` names.
        """
        return _narrowed(_with_opset(own_model(self.model)), "bfloat16", self.keep_float)


convert_to_fp16 = immediate(ConvertToFp16)
convert_to_bf16 = immediate(ConvertToBf16)


class Census(NamedTuple):
    """The weights of a model, those that Constant nodes hold and those in the bodies of operators included.

    Attributes:
        float32: Number of those in float32.
        narrow: Number of those in float16 or bfloat16.
        size: Bytes of all together.
    """

    float32: int
    narrow: int
    size: int

    @classmethod
    def of(cls, model: ModelProto) -> Census:
        """Count the weights of a model, which need not be loaded."""
        import onnx

        weights = [(item.data_type, tensor_bytes(item)) for _, item in _weights(model.graph)]
        kinds = [kind for kind, _ in weights]
        return cls(kinds.count(onnx.TensorProto.FLOAT), sum(map(_is_narrow, kinds)), sum(size for _, size in weights))

    def became(self, after: Census) -> str:
        """Say how many weights were narrowed, and what they took before and after.

        Args:
            after: The weights of the model in a smaller type.
        """
        return f"{after.narrow - self.narrow} of {self.float32} weights, {_bytes(self.size)} to {_bytes(after.size)}"


def _is_narrow(kind: int) -> bool:
    from onnx import TensorProto

    return kind in {TensorProto.FLOAT16, TensorProto.BFLOAT16}


def _weights(graph: Any) -> Iterator[tuple[str, Any]]:
    """Yield name and `onnx.TensorProto` of each weight."""
    for view in map(GraphView, graphs_within(graph)):
        yield from (*view.weights.items(), *view.held.items())


def _bytes(size: int) -> str:
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"


def _narrowed(model: Any, to: str, keep_float: Sequence[str]) -> Any:
    from onnx import TensorProto

    from polycmp_onnx.lower_precision import lower_precision

    stays = _chosen(model.graph, keep_float)
    kind, shrink = (TensorProto.FLOAT16, _to_fp16) if to == "float16" else (TensorProto.BFLOAT16, _to_bf16)
    before, beyond = Census.of(model), _beyond_range(model) if to == "float16" else {}
    try:
        narrowed = lower_precision(model, kind, shrink, stays)
    except PolycmpError:
        raise
    except Exception as error:
        raise ModelError(f"cannot be converted to {to}", whose="the model", why=describe_exception(error)) from error
    narrow = {name for name, item in _weights(narrowed.graph) if _is_narrow(item.data_type)}
    cut = {name: largest for name, largest in beyond.items() if narrow & {name, f"{name}_{to}"}}
    _warn(before, Census.of(narrowed), cut, to)
    return narrowed


def _beyond_range(model: Any) -> dict[str, float]:
    """Return the largest number of each weight that holds some beyond the range of float16, by the weight's name."""
    import onnx

    beyond = {}
    for name, item in _weights(model.graph):
        if item.data_type == onnx.TensorProto.FLOAT and not item.external_data:
            array = onnx.numpy_helper.to_array(item)
            largest = float(np.abs(array[np.isfinite(array)]).max(initial=0))
            if largest > _LARGEST:
                beyond[name] = largest
    return beyond


def _warn(before: Census, after: Census, beyond: Mapping[str, float], to: str) -> None:
    """Warn of a conversion that gains nothing, or changes weights by more than rounding."""
    if before.size and after.narrow == before.narrow:
        why = f"no operator that may be {to} reads one" if before.float32 else "none is of float32"
        _LOG.warning("%s: no weight was made smaller, for %s", to, why)
    if beyond:
        named = shortened([f"{name} ({largest:.3g})" for name, largest in beyond.items()], _NAMED)
        _LOG.warning(
            "%s holds numbers up to %g only, and these weights have larger ones, which became that: %s; "
            "next: --keep-float with the operators that read them, or --fp-to-bf16",
            to,
            _LARGEST,
            named,
        )


def _to_fp16(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    finite = np.isfinite(array)
    held = np.where(finite, array.clip(-_LARGEST, _LARGEST), array)
    tiny = (held != 0) & (np.abs(held) < _SMALLEST)
    return np.where(tiny, np.copysign(_SMALLEST, held), held).astype(np.float16)


def _to_bf16(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    import ml_dtypes

    return array.astype(ml_dtypes.bfloat16)


def _with_opset(model: Any) -> Any:
    """Return the model in an opset that knows bfloat16.

    Raises:
        ModelError: It cannot be brought there.
    """
    import onnx

    opset = opset_of(model) or _BF16_OPSET
    if opset >= _BF16_OPSET:
        return model
    try:
        return onnx.version_converter.convert_version(model, _BF16_OPSET)
    except Exception as error:
        raise ModelError(
            f"the model has opset {opset}, and bfloat16 needs {_BF16_OPSET}",
            whose="the model",
            why=describe_exception(error),
            hint="export the model with a newer opset",
        ) from error


def _chosen(graph: Any, patterns: Sequence[str]) -> Callable[[Any], bool]:
    """Return the predicate of the nodes that keep computing in float32.

    Raises:
        UsageError: The model has none of such a type or name.
    """
    nodes = list(nodes_within(graph))
    types, names = set(), set()
    present, named = {node.op_type.lower(): node.op_type for node in nodes}, {node.name for node in nodes if node.name}
    for word in patterns:
        fitting = {name for name in named if fnmatchcase(name, word)}
        if word.lower() in present:
            types.add(present[word.lower()])
        elif not fitting:
            raise UsageError(
                f"the model has no operator or node {word!r}",
                whose="--keep-float",
                why=did_you_mean(word, [*present.values(), *named]),
            )
        names |= fitting
    return lambda node: node.op_type in types or node.name in names
