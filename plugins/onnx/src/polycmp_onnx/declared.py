"""What operators of an ONNX model are told to do, in terms that two files of it share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from ml_dtypes import finfo
from numpy.typing import NDArray

from polycmp.graph import Constant, GraphNode
from polycmp.precision import unit_of
from polycmp.tensors import dtype_class, dtype_name, is_size
from polycmp_onnx.graph import STANDARD, GraphView, attribute_value, schema_of, shape_of
from polycmp_onnx.operators import MICROSOFT
from polycmp_onnx.packing import unpack

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

_Values = NDArray[Any]

#: Attributes that change no output, or only the type in which it is written.
_WITHOUT_EFFECT = {
    "Cast": {"to", "saturate", "round_mode"},
    "CastLike": {"saturate", "round_mode"},
    "BatchNormalization": {"momentum", "spatial", "is_test", "consumed_inputs", "training_mode"},
    "Dropout": {"ratio", "seed", "is_test", "consumed_inputs"},
    "TopK": {"sorted"},
    "MaxPool": {"storage_order"},
    "Gemm": {"alpha", "beta", "transB", "broadcast"},
    "FusedMatMul": {"alpha", "transB"},
    "QGemm": {"alpha", "transB"},
    "MatMulNBits": {"bits", "block_size", "accuracy_level", "weight_prepacked"},
    "LayerNormalization": {"stash_type"},
    "RMSNormalization": {"stash_type"},
    "GroupNormalization": {"stash_type"},
    "ConstantOfShape": {"value"},
}
#: Settings that shapes decide, which tools write down in several ways.
_OF_SHAPES = frozenset({"Reshape", "Expand", "Tile", "Squeeze", "Unsqueeze", "Flatten", "Split", "Identity", "Shape"})
#: Operators with windows that move over a tensor, and where their sizes are read from if no attribute says them.
_WINDOWS = {"Conv": 1, "ConvTranspose": 1, "FusedConv": 1, "QLinearConv": 3, "MaxPool": 0, "AveragePool": 0,
            "LpPool": 0}  # fmt: skip
#: What the first versions of operators did that say no word about it.
_IMPLIED: Mapping[tuple[str, int], Mapping[str, Any]] = {
    ("Resize", 10): {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
    ("Upsample", 7): {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
    ("Upsample", 9): {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
}
_SAME_WORDS = {("GridSample", "bilinear"): "linear", ("GridSample", "bicubic"): "cubic"}
_OVER_AXES = frozenset({"Softmax", "LogSoftmax", "Hardmax"})
#: From this version on they work along one axis, before over all from one axis on.
_ONE_AXIS_SINCE = 13
_COMMUTATIVE = frozenset({"Add", "Mul", "Max", "Min", "Sum", "Mean"})
#: Places of weights, with their scale and zero point where the operator reads codes, and of biases.
_WEIGHTS: Mapping[str, tuple[int, ...]] = {
    "Conv": (1,), "ConvTranspose": (1,), "FusedConv": (1,), "MatMul": (1,), "FusedMatMul": (1,), "Gemm": (1,),
    "FusedGemm": (1,), "QLinearConv": (3, 4, 5), "QLinearMatMul": (3, 4, 5), "QGemm": (3, 4, 5),
}  # fmt: skip
_BIASES: Mapping[str, tuple[int, ...]] = {
    "Conv": (2,), "ConvTranspose": (2,), "FusedConv": (2,), "Gemm": (2,), "FusedGemm": (2,), "QLinearConv": (8, 1, 4),
    "QGemm": (6, 1, 4),
}  # fmt: skip
#: Products of codes that are multiplied out behind them.
_INTEGER = frozenset({"MatMulInteger", "ConvInteger"})
#: Numbers of a setting that are read from a tensor.
_FEW = 64
#: An end of a slice that means all the rest.
_FAR = 1 << 30
#: Elements of a weight up to which it is read.
_LARGEST = 1 << 28


class Declarations:
    """Settings and constants of a model's operators, as `polycmp.graph.DeclaredGraph` describes them.

    Args:
        model: The model.
        view: Links of its graph.
        types: `ValueInfoProto` of its tensors, by name.
        values: Returns weights by name.
    """

    def __init__(
        self,
        model: ModelProto,
        view: GraphView,
        types: Mapping[str, Any],
        values: Callable[[Sequence[str]], Mapping[str, _Values]],
    ) -> None:
        self._view, self._types, self._values = view, types, values
        self._opsets = {item.domain or "ai.onnx": item.version for item in model.opset_import}

    def settings(self, node: GraphNode) -> dict[str, Any]:
        """Return what an operator is told to do; an operator that only shapes tensors is told nothing."""
        proto = self._proto(node)
        if proto is None or proto.op_type in _OF_SHAPES:
            return {}
        schema = self._schema(proto)
        settings = {} if schema is None else _defaults(schema)
        if schema is not None:
            settings |= _IMPLIED.get((proto.op_type, schema.since_version), {})
        settings |= {item.name: value for item in proto.attribute if (value := _plain(item)) is not None}
        for name, value in self._read(proto, schema).items():
            settings[name] = value
        self._settle(proto, settings, schema)
        for name in _WITHOUT_EFFECT.get(proto.op_type, ()):
            settings.pop(name, None)
        return {name: _SAME_WORDS.get((proto.op_type, value), value) if isinstance(value, str) else value
                for name, value in settings.items()}  # fmt: skip

    def constants(self, node: GraphNode) -> dict[str, Constant]:
        """Return the constants that an operator reads, by the part they play."""
        proto = self._proto(node)
        if proto is None or proto.op_type in _OF_SHAPES:
            return {}
        attributes = {item.name: _plain(item) for item in proto.attribute}
        if proto.op_type == "MatMulNBits":
            weight = self._packed(proto, attributes)
            constants = {} if weight is None else {"weight": weight}
            return constants | self._others(proto, excluded_places={0, 1, 2, 3})
        if proto.op_type in _INTEGER:
            weight = self._integer(proto)
            return {} if weight is None else {"weight": weight}
        constants = {}
        places, scale = _WEIGHTS.get(proto.op_type, ()), 1.0
        if places:
            weight = self._operand(proto, *places, axis=0 if proto.op_type == "QLinearConv" else 1)
            scale = float(attributes.get("alpha", 1.0)) if proto.op_type != "FusedConv" else 1.0
            if weight is not None and attributes.get("transB"):
                weight = _map(weight, lambda item: np.swapaxes(item, -1, -2) if item.ndim > 1 else item)
            if weight is not None:
                constants["weight"] = _times(weight, scale)
        biases = _BIASES.get(proto.op_type, ())
        bias = self._bias(proto, biases) if biases else None
        if bias is not None:
            constants["bias"] = _times(bias, float(attributes.get("beta", 1.0)))
        return constants | self._others(proto, excluded_places={*places, *biases[:1]})

    # --- operators

    def _proto(self, node: GraphNode) -> NodeProto | None:
        return self._view.producer(node.outputs[0]) if node.outputs else None

    def _schema(self, proto: NodeProto) -> Any:
        version = self._opsets.get(proto.domain or "ai.onnx", 0)
        return schema_of(proto.op_type, version, "" if proto.domain == "ai.onnx" else proto.domain)

    def _shape(self, name: str) -> list[int | str] | None:
        weight = self._view.weights.get(name, self._view.held.get(name))
        if weight is not None:
            return list(weight.dims)
        value = self._types.get(name)
        return None if value is None else shape_of(value)

    def _read(self, proto: NodeProto, schema: Any) -> dict[str, Any]:
        """Return what an operator reads from constants, and other versions of it hold in attributes."""
        if schema is None:
            return {}
        known = _attribute_names(proto.op_type, proto.domain) | {"steps"}
        settings: dict[str, Any] = {}
        for place, name in enumerate(proto.input):
            if not name or place >= len(schema.inputs) or schema.inputs[place].name not in known:
                continue
            constant = self._static(name)
            if constant is None or constant.values.size > _FEW:
                settings[schema.inputs[place].name] = None  # unknown, so that no default takes its place
                continue
            values = constant.values
            settings[schema.inputs[place].name] = values.item() if values.size == 1 and not values.ndim else (
                tuple(values.reshape(-1).tolist())
            )  # fmt: skip
        return settings

    def _settle(self, proto: NodeProto, settings: dict[str, Any], schema: Any) -> None:
        """Write out what defaults depend on: ranks, and the sizes of windows."""
        shape = self._shape(proto.input[0]) if proto.input else None
        rank = None if shape is None else len(shape)
        if proto.op_type == "Slice":
            _settle_slice(settings, shape)
        elif proto.op_type == "Transpose":
            if settings.get("perm") is None and rank is not None:
                settings["perm"] = tuple(range(rank))[::-1]
        elif proto.op_type in _OVER_AXES:
            _settle_softmax(settings, shape, 1 if schema is None else schema.since_version)
        else:
            _settle_axes(proto.op_type, settings, rank)
        if proto.op_type in _WINDOWS:
            self._settle_windows(proto, settings)
        for name in [name for name, value in settings.items() if value is None]:
            del settings[name]

    def _settle_windows(self, proto: NodeProto, settings: dict[str, Any]) -> None:
        shape = self._shape(proto.input[_WINDOWS[proto.op_type]])
        kernel = settings.get("kernel_shape")
        rank = len(kernel) if kernel else len(shape) - 2 if shape is not None else 0
        if _WINDOWS[proto.op_type]:
            settings.pop("kernel_shape", None)  # the weight's shape says it
        for name, value, count in (("strides", 1, 1), ("dilations", 1, 1), ("pads", 0, 2)):
            if rank and not settings.get(name):
                settings[name] = (value,) * (rank * count)
        automatic = settings.pop("auto_pad", "NOTSET")
        if automatic.startswith("SAME"):
            settings.pop("pads", None)

    # --- constants

    def _others(self, proto: NodeProto, excluded_places: set[int]) -> dict[str, Constant]:
        """Return the constants that are neither weight nor bias of a product, nor settings."""
        schema = self._schema(proto)
        known = _attribute_names(proto.op_type, proto.domain) | {"steps"}
        constants: dict[str, Constant] = {}
        for place, name in enumerate(proto.input):
            if not name or place in excluded_places or proto.op_type.startswith("Q"):
                continue
            role = f"input {place}"
            if schema is not None and schema.inputs:
                role = schema.inputs[min(place, len(schema.inputs) - 1)].name
            if role in known:
                continue
            constant = self._static(name)
            if constant is not None:
                constants["constant" if proto.op_type in _COMMUTATIVE else role] = constant
        return constants

    def _operand(self, proto: NodeProto, place: int, *coded: int, axis: int = 1) -> Constant | None:
        """Return a constant operand; of codes, what their scale and zero point make of them."""
        name = _input(proto, place)
        constant = self._static(name) if name else None
        if constant is None or not coded:
            return constant
        scale = self._static(_input(proto, coded[0]))
        zero = self._static(_input(proto, coded[1])) if len(coded) > 1 and _input(proto, coded[1]) else None
        if scale is None or (len(coded) > 1 and _input(proto, coded[1]) and zero is None):
            return None
        axis = axis if axis == 0 else constant.values.ndim - 1
        return _multiplied(constant, scale.values, None if zero is None else zero.values, axis, 0)

    def _bias(self, proto: NodeProto, places: tuple[int, ...]) -> Constant | None:
        """Return the bias of a product; as codes, it has the product of both scales."""
        name = _input(proto, places[0])
        constant = self._static(name) if name else None
        if constant is None or len(places) == 1:
            return constant
        scales = [self._static(_input(proto, place)) for place in places[1:]]
        if any(item is None for item in scales):
            return None
        one, two = (item.values.reshape(-1).astype(np.float64) for item in scales if item is not None)
        return _multiplied(constant, one * two, None, 0, 0)

    def _integer(self, proto: NodeProto) -> Constant | None:
        """Return the weight of a product of codes, by the scale that its result is multiplied by."""
        codes, zero = self._static(_input(proto, 1)), self._static(_input(proto, 3))
        scale = self._scale_behind(proto)
        if codes is None or scale is None or (_input(proto, 3) and zero is None):
            return None
        axis = 0 if proto.op_type == "ConvInteger" else codes.values.ndim - 1
        return _multiplied(codes, scale.values, None if zero is None else zero.values, axis, 0)

    def _scale_behind(self, proto: NodeProto) -> Constant | None:
        """Return the constant that the result of a product of codes is multiplied by, beside the scale of its input."""
        cast = _last(self._view.consumers(proto.output[0]))
        scaled = None if cast is None or cast.op_type != "Cast" else _last(self._view.consumers(cast.output[0]))
        if cast is None or scaled is None or scaled.op_type != "Mul":
            return None
        (other,) = [name for name in scaled.input if name != cast.output[0]] or [""]
        scales = self._view.producer(other)
        if scales is None or scales.op_type != "Mul":
            return None
        known = [item for name in scales.input if (item := self._static(name)) is not None]
        return known[0] if len(known) == 1 else None

    def _packed(self, proto: NodeProto, attributes: Mapping[str, Any]) -> Constant | None:
        """Return the weight of a MatMulNBits, the inner dimension first."""
        codes, scale = (self._static(_input(proto, place)) for place in (1, 2))
        bits, block = int(attributes.get("bits") or 4), int(attributes.get("block_size") or 32)
        inner, outer = int(attributes.get("K") or 0), int(attributes.get("N") or 0)
        if codes is None or scale is None or bits not in {2, 4, 8} or _input(proto, 4) or not inner * outer:
            return None
        blocks = -(-inner // block)
        zero = self._static(_input(proto, 3)) if _input(proto, 3) else None
        if codes.values.size * (8 // bits) != outer * blocks * block or (_input(proto, 3) and zero is None):
            return None
        flat = unpack(codes.values.astype(np.uint8).reshape(-1), bits, np.dtype(np.uint8), (outer * blocks * block,))
        numbers = flat.reshape(outer, blocks, block).astype(np.float64)
        step = np.abs(scale.values.reshape(outer, blocks, 1).astype(np.float64))
        ends = (numbers == 0) | (numbers == 2**bits - 1)
        offset: Any = 2.0 ** (bits - 1)
        if zero is not None and zero.kind == "uint8":
            per_row = -(-blocks * bits // 8) * (8 // bits)
            offset = unpack(zero.values.reshape(-1), bits, np.dtype(np.uint8), (outer * per_row,))
            offset = offset.reshape(outer, per_row)[:, :blocks, None].astype(np.float64)
        elif zero is not None:
            offset = zero.values.reshape(outer, blocks, 1).astype(np.float64)
        values = (numbers - offset) * scale.values.reshape(outer, blocks, 1).astype(np.float64)

        def laid_out(item: _Values) -> _Values:
            return np.asarray(np.broadcast_to(item, numbers.shape).reshape(outer, -1)[:, :inner].T)

        return Constant(
            codes.name, laid_out(values), unit_of(scale.kind), laid_out(step), f"{bits} bits", True, laid_out(ends)
        )  # fmt: skip

    def _static(self, name: str) -> Constant | None:
        """Return a tensor that depends on weights alone, through operators that move, round or scale it."""
        if name not in self._view.static:
            return None
        proto, weight = self._view.producer(name), self._view.weights.get(name)
        if weight is not None or (proto is not None and proto.op_type == "Constant"):
            if weight is not None and math.prod(weight.dims) > _LARGEST:
                return None
            held = self._values([name])  # one by one, so that a file's pages are let go of with each
            return _constant(name, held[name]) if name in held else None
        if proto is None or proto.domain not in {*STANDARD, MICROSOFT}:
            return None
        attributes = {item.name: _plain(item) for item in proto.attribute}
        if proto.op_type == "DequantizeLinear":
            codes, scale, zero = (self._static(_input(proto, place)) for place in range(3))
            if codes is None or scale is None or (_input(proto, 2) and zero is None):
                return None
            axis, block = int(attributes.get("axis", 1)), int(attributes.get("block_size") or 0)
            return _multiplied(codes, scale.values, None if zero is None else zero.values, axis, block, scale.kind)
        first = self._static(_input(proto, 0))
        if first is None:
            return None
        if proto.op_type == "Identity":
            return first
        if proto.op_type == "Cast":
            kind = onnx.helper.tensor_dtype_to_np_dtype(int(attributes["to"]))
            if dtype_class(kind) != "float":
                return None
            cast = _constant(first.name, first.values.astype(kind))
            is_real = dtype_class(first.values.dtype) == "float"
            return first if is_real and (first.coded or cast.unit <= first.unit) else cast
        moved = self._moved(proto, attributes)
        return None if moved is None else _map(first, moved)

    def _moved(self, proto: NodeProto, attributes: Mapping[str, Any]) -> Callable[[_Values], _Values] | None:
        """Return what an operator does to a constant where that moves its elements; None for all others."""
        if proto.op_type == "Transpose":
            perm = attributes.get("perm")
            return lambda item: np.transpose(item, perm) if item.ndim > 1 else item
        if proto.op_type in {"Reshape", "Squeeze", "Unsqueeze", "Flatten"}:
            shape = self._shape(proto.output[0])
            if shape is None or not all(is_size(size) for size in shape):
                return None
            sizes = [int(size) for size in shape]
            return lambda item: item.reshape(sizes) if item.size == np.prod(sizes) else item
        return None


def _last(nodes: Sequence[NodeProto]) -> NodeProto | None:
    return nodes[-1] if nodes else None


def _input(proto: NodeProto, place: int) -> str:
    return str(proto.input[place]) if place < len(proto.input) else ""


def _constant(name: str, values: _Values) -> Constant:
    """Return a tensor of the file as a constant."""
    kind = dtype_name(values.dtype)
    if dtype_class(values.dtype) != "float":
        return Constant(name, values, 0.0, np.zeros(()), kind)
    smallest = np.asarray(float(finfo(values.dtype).smallest_subnormal))
    return Constant(name, values, unit_of(kind), smallest, kind)


def _multiplied(
    codes: Constant, scale: _Values, zero: _Values | None, axis: int, block: int, scale_kind: str = "float32"
) -> Constant | None:
    """Return what codes represent.

    Args:
        codes: The codes.
        scale: The steps: one, one for each slice along the axis, or one for each block along it.
        zero: The codes of 0, of the same shape; None where that is 0.
        axis: The axis.
        block: Number of elements in a block; 0 for none.
        scale_kind: Type of the steps.
    """
    values = codes.values

    def shaped(item: _Values) -> _Values | None:
        wide = item.astype(np.float64)
        if wide.size == 1:
            return wide.reshape(())
        at = axis % values.ndim if values.ndim else 0
        if block:
            spread = np.repeat(wide, block, axis=at)
            return spread.take(range(values.shape[at]), axis=at) if spread.ndim == values.ndim else None
        if not values.ndim or wide.size != values.shape[at]:
            return None
        return wide.reshape([-1 if place == at else 1 for place in range(values.ndim)])

    step, offset = shaped(scale), np.zeros(()) if zero is None else shaped(zero)
    if step is None or offset is None:
        return None
    numbers = (values.astype(np.float64) - offset) * step
    ends = _ends(values)
    unit = max(unit_of(scale_kind), 2.0**-24)
    return Constant(codes.name, numbers, unit, np.abs(step), codes.kind, True, ends)


def _ends(codes: _Values) -> _Values | None:
    """Return which codes are at an end of their type; those of a symmetric scale may leave out the lowest."""
    kind = dtype_name(codes.dtype)
    if dtype_class(codes.dtype) != "integer" or kind in {"int32", "int64"}:
        return None
    wide = codes.astype(np.int64)
    if not wide.size:
        return None
    # Quantisers that use 7 bits, or leave out the lowest code, end before the type does.
    return (wide <= min(int(wide.min()), 0)) | (wide >= int(wide.max()))


def _map(constant: Constant, move: Callable[[_Values], _Values]) -> Constant:
    """Return a constant with its elements at other places."""

    def moved(item: _Values) -> _Values:
        return move(np.broadcast_to(item, constant.values.shape)) if item.ndim else item

    clipped = None if constant.clipped is None else moved(constant.clipped)
    return replace(constant, values=move(constant.values), step=moved(constant.step), clipped=clipped)


def _times(constant: Constant, factor: float) -> Constant:
    if factor == 1.0:
        return constant
    values = constant.values.astype(np.float64) * factor
    return replace(constant, values=values, step=constant.step * abs(factor))


@cache
def _attribute_names(op_type: str, domain: str) -> frozenset[str]:
    """Return the names of the attributes that any version of an operator has, but for those that say a shape."""
    domain = "" if domain == "ai.onnx" else domain
    schemas = _all_schemas().get((domain, op_type), [])
    return frozenset(name for schema in schemas for name in schema.attributes) - {"shape", "value", "split", "axis"}


@cache
def _all_schemas() -> dict[tuple[str, str], list[Any]]:
    schemas: dict[tuple[str, str], list[Any]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        schemas.setdefault((schema.domain, schema.name), []).append(schema)
    return schemas


def _defaults(schema: Any) -> dict[str, Any]:
    defaults = {name: item.default_value for name, item in schema.attributes.items()}
    return {name: value for name, item in defaults.items() if item.type and (value := _plain(item)) is not None}


def _plain(attribute: Any) -> Any:
    """Return an attribute as a plain value that can be compared; None for graphs and large tensors."""
    kinds = onnx.AttributeProto
    if attribute.type == kinds.TENSOR:
        array = onnx.numpy_helper.to_array(attribute.t)
        return tuple(array.reshape(-1).tolist()) if array.size <= _FEW else None
    if attribute.type in {kinds.INT, kinds.FLOAT, kinds.STRING, kinds.INTS, kinds.FLOATS, kinds.STRINGS}:
        value = attribute_value(attribute)
        return tuple(value) if isinstance(value, list) else value
    return None


def _settle_axes(op_type: str, settings: dict[str, Any], rank: int | None) -> None:
    """Count axes from 0; an operator that reduces all axes names none."""
    if isinstance(settings.get("axis"), int):
        settings["axis"] = settings["axis"] % rank if rank else None
    axes = settings.get("axes")
    if (
        op_type.startswith("Reduce")
        and not axes
        and "axes" not in settings
        and not settings.get("noop_with_empty_axes")
    ):
        axes = tuple(range(rank)) if rank is not None else None
    if axes is not None or "axes" in settings:
        axes = (axes,) if isinstance(axes, int) else axes
        settings["axes"] = tuple(sorted(axis % rank for axis in axes)) if rank and axes else None
    settings.pop("noop_with_empty_axes", None)


def _settle_softmax(settings: dict[str, Any], shape: Sequence[int | str] | None, version: int) -> None:
    """Replace the axis by the axes over which the results add up to 1, those of size 1 left out."""
    axis = settings.pop("axis", None)
    if shape is None or axis is None or not shape:
        return
    axis %= len(shape)
    axes = range(axis, len(shape)) if version < _ONE_AXIS_SINCE else (axis,)
    settings["axis"] = tuple(place for place in axes if shape[place] != 1)


def _settle_slice(settings: dict[str, Any], shape: Sequence[int | str] | None) -> None:
    """Replace starts, ends, axes and steps by the range along each axis; leave all out where sizes are not known."""
    parts = [settings.pop(name, ()) for name in ("starts", "ends", "axes", "steps")]
    starts, ends, axes, steps = ((item,) if isinstance(item, int) else item for item in parts)
    if shape is None or starts is None or ends is None or axes is None or steps is None:
        return
    axes, steps = axes or tuple(range(len(starts))), steps or (1,) * len(starts)
    ranges = {}
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=False):
        size = shape[axis % len(shape)]
        if not is_size(size):
            if start or abs(end) < _FAR or step != 1:
                return
            continue
        one = slice(start, None if abs(end) > _FAR else end, step).indices(size)
        if one != (0, size, 1):
            ranges[axis % len(shape)] = one
    settings["ranges"] = tuple(sorted(ranges.items()))
