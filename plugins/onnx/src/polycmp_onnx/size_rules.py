"""Rules for sizes of ONNX operators: by operator, the sizes of its outputs and its constraints on its inputs'."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

#: Constants of up to this many elements are read: shapes, axes, pads, scales.
SMALL = 64


@dataclass(frozen=True)
class Size:
    """A size that follows from one dimension of an input.

    Attributes:
        origin: That input and axis.
        steps: Functions that are applied in turn, each of the size before.
        stride: By how much it was divided on the way, at most.
    """

    origin: tuple[str, int]
    steps: tuple[Callable[[int], int], ...] = ()
    stride: int = 1

    def of(self, size: int) -> int:
        """Return it for a size of the dimension; 0 where an operator before is left with nothing."""
        for step in self.steps:
            size = step(size)
            if size < 1:
                return 0
        return size

    def then(self, step: Callable[[int], int], stride: int = 1) -> Size:
        """Apply an operator's rule to this size."""
        return replace(self, steps=(*self.steps, step), stride=self.stride * stride)


Dim = Size | int | None
Sizes = list[Dim]


@dataclass(frozen=True)
class Need:
    """Constraint of an operator on a size: a least value, or an exact one."""

    size: Size
    node: Any
    least: int = 1
    equal: int | None = None


@dataclass
class Constants:
    """The constants of a graph and of those around it, as far as they matter here."""

    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    tensors: dict[str, Any] = field(default_factory=dict)

    def inside(self, graph: Any) -> Constants:
        """Return these and those of a graph inside."""
        inner = Constants(dict(self.shapes), dict(self.tensors))
        for item in graph.initializer:
            inner._hold(item.name, item)
        return inner

    def add(self, node: Any) -> None:
        """Take in what a Constant node holds."""
        if node.op_type == "Constant":
            for attribute in node.attribute:
                if attribute.name == "value":
                    self._hold(node.output[0], attribute.t)
                elif attribute.name in {"value_int", "value_ints"}:
                    self.tensors[node.output[0]] = attribute.ints or attribute.i

    def _hold(self, name: str, tensor: Any) -> None:
        self.shapes[name] = tuple(tensor.dims)
        if math.prod(tensor.dims) <= SMALL:
            self.tensors[name] = tensor

    def shape(self, name: str) -> Sizes | None:
        """Return the shape of a constant."""
        return list(self.shapes[name]) if name in self.shapes else None

    def values(self, node: Any, position: int, attribute: str = "") -> list[Any] | None:
        """Return the numbers of a small constant input, or of the attribute that older operators have instead."""
        from onnx import TensorProto, numpy_helper

        if position < len(node.input) and node.input[position]:
            tensor = self.tensors.get(node.input[position])
            if isinstance(tensor, TensorProto):
                return list(numpy_helper.to_array(tensor).reshape(-1).tolist())
            return None if tensor is None else list(tensor) if not isinstance(tensor, int) else [tensor]
        return _attribute(node, attribute) if attribute else None


def _attribute(node: Any, name: str, default: Any = None) -> Any:
    from onnx import helper

    return next((helper.get_attribute_value(item) for item in node.attribute if item.name == name), default)


Rule = Callable[[Any, "list[Sizes | None]", Constants, "list[Need]"], "list[Sizes | None]"]


def _same(_node: Any, shapes: list[Sizes | None], _constants: Constants, _needs: list[Need]) -> list[Sizes | None]:
    return [shapes[0]]


def _broadcast(node: Any, shapes: list[Sizes | None], _constants: Constants, needs: list[Need]) -> list[Sizes | None]:
    fixed = [shape for shape in shapes if shape is not None]
    rank = max(map(len, fixed))
    padded: list[Sizes] = [[*[1] * (rank - len(shape)), *shape] for shape in fixed]
    result = [_joined([shape[axis] for shape in padded], node, needs) for axis in range(rank)]
    return [result if len(fixed) == len([name for name in node.input if name]) else None]


def _joined(dims: list[Dim], node: Any, needs: list[Need]) -> Dim:
    """Return the size of dimensions that are broadcast to each other."""
    fixed = next((dim for dim in dims if isinstance(dim, int) and dim > 1), None)
    sizes = [dim for dim in dims if isinstance(dim, Size)]
    if fixed is not None:
        needs += [Need(size, node, equal=fixed) for size in sizes]
        return fixed
    if any(dim is None for dim in dims):
        return sizes[0] if sizes else None
    return sizes[0] if sizes else 1


def _window(node: Any, shapes: list[Sizes | None], _constants: Constants, needs: list[Need]) -> list[Sizes | None]:
    """Convolution and pooling."""
    shape, weight = shapes[0] or [], shapes[1] if node.op_type == "Conv" and len(shapes) > 1 else None
    count = len(shape) - 2
    kernel = _attribute(node, "kernel_shape") or list((weight or [])[2:])
    strides, dilations = _attribute(node, "strides", [1] * count), _attribute(node, "dilations", [1] * count)
    pads, auto = _attribute(node, "pads", [0] * 2 * count), _attribute(node, "auto_pad", b"NOTSET")
    channels: Dim = shape[1]
    if weight is not None:
        if isinstance(shape[1], Size) and isinstance(weight[1], int):
            needs.append(Need(shape[1], node, equal=weight[1] * _attribute(node, "group", 1)))
        channels = weight[0]
    result: Sizes = [shape[0], channels]
    for axis in range(count):
        span, stride = dilations[axis] * (kernel[axis] - 1) + 1, strides[axis]
        pad = pads[axis] + pads[axis + count]
        if auto in {b"SAME_UPPER", b"SAME_LOWER"}:
            result.append(_step(shape[axis + 2], partial(_line, add=stride - 1, by=stride), stride))
        else:
            ceil = stride - 1 if _attribute(node, "ceil_mode", 0) else 0
            change = partial(_line, add=pad - span + ceil, by=stride, more=1)
            result.append(_step(shape[axis + 2], change, stride))
    return [result]


def _line(size: int, times: int = 1, add: int = 0, by: int = 1, more: int = 0) -> int:
    return (size * times + add) // by + more


def _divided(size: int, times: int, by: int) -> int:
    return size * times // by if size * times % by == 0 else 0


def _sliced(size: int, part: slice) -> int:
    return len(range(*part.indices(size)))


def _scaled(size: int, by: float) -> int:
    return int(size * by)


def _step(dim: Dim, change: Callable[[int], int], stride: int = 1) -> Dim:
    if isinstance(dim, Size):
        return dim.then(change, stride)
    return None if dim is None else change(dim)


def _transposed(node: Any, shapes: list[Sizes | None], _constants: Constants, _needs: list[Need]) -> list[Sizes | None]:
    """Transposed convolution."""
    shape, weight = shapes[0] or [], shapes[1] or []
    count = len(shape) - 2
    strides, pads = _attribute(node, "strides", [1] * count), _attribute(node, "pads", [0] * 2 * count)
    more, dilations = _attribute(node, "output_padding", [0] * count), _attribute(node, "dilations", [1] * count)
    result: Sizes = [shape[0], weight[1] * _attribute(node, "group", 1) if isinstance(weight[1], int) else None]
    for axis in range(count):
        kernel = weight[axis + 2]
        if not isinstance(kernel, int):
            return [None]
        added = dilations[axis] * (kernel - 1) + 1 + more[axis] - pads[axis] - pads[axis + count]
        result.append(_step(shape[axis + 2], partial(_line, times=strides[axis], add=added - strides[axis])))
    return [result]


def _pad(node: Any, shapes: list[Sizes | None], constants: Constants, needs: list[Need]) -> list[Sizes | None]:
    shape, pads = list(shapes[0] or []), constants.values(node, 1, "pads")
    axes = constants.values(node, 3) or list(range(len(shape)))
    if pads is None:
        return [shape]  # computed from constants, as TorchScript writes it: at least nothing is cut off
    for place, axis in enumerate(axes):
        before, behind, dim = int(pads[place]), int(pads[place + len(axes)]), shape[axis]
        if isinstance(dim, Size) and _attribute(node, "mode", b"constant") == b"reflect":
            needs.append(Need(dim, node, least=max(before, behind) + 1))
        shape[axis] = _step(dim, partial(_line, more=before + behind))
    return [shape]


def _transpose(node: Any, shapes: list[Sizes | None], _constants: Constants, _needs: list[Need]) -> list[Sizes | None]:
    shape = shapes[0] or []
    return [[shape[axis] for axis in _attribute(node, "perm", range(len(shape))[::-1])]]


def _unsqueeze(node: Any, shapes: list[Sizes | None], constants: Constants, _needs: list[Need]) -> list[Sizes | None]:
    axes = constants.values(node, 1, "axes")
    if axes is None:
        return [None]
    rank = len(shapes[0] or []) + len(axes)
    at, rest = {axis % rank for axis in axes}, iter(shapes[0] or [])
    return [[1 if axis in at else next(rest) for axis in range(rank)]]


def _squeeze(node: Any, shapes: list[Sizes | None], constants: Constants, _needs: list[Need]) -> list[Sizes | None]:
    axes, shape = constants.values(node, 1, "axes"), shapes[0] or []
    if axes is None:
        return [None]
    gone = {axis % len(shape) for axis in axes}
    return [[dim for axis, dim in enumerate(shape) if axis not in gone]]


def _reshape(node: Any, shapes: list[Sizes | None], constants: Constants, needs: list[Need]) -> list[Sizes | None]:
    shape, target = shapes[0] or [], constants.values(node, 1, "shape")
    if target is None:
        return [None]
    result: Sizes = [shape[axis] if dim == 0 else int(dim) for axis, dim in enumerate(target)]
    sizes, rest = [dim for dim in shape if isinstance(dim, Size)], [dim for dim in shape if isinstance(dim, int)]
    if len(sizes) + len(rest) < len(shape) or any(isinstance(dim, Size) for dim in result) or len(sizes) != 1:
        return [[None if dim == -1 else dim for dim in result]]
    others = math.prod(dim for dim in result if isinstance(dim, int) and dim != -1)
    factor = math.prod(rest)
    if -1 not in result:
        if factor and others % factor == 0:
            needs.append(Need(sizes[0], node, equal=others // factor))
        return [result]
    if others == factor:
        result[result.index(-1)] = sizes[0]
    else:
        result[result.index(-1)] = sizes[0].then(partial(_divided, times=factor, by=others)) if others else None
    return [result]


def _matmul(node: Any, shapes: list[Sizes | None], _constants: Constants, needs: list[Need]) -> list[Sizes | None]:
    one, two = shapes[0], shapes[1]
    if one is None or two is None or len(one) < 2 or len(two) < 2:
        return [None]
    if node.op_type == "Gemm":
        one = one[::-1] if _attribute(node, "transA", 0) else one
        two = two[::-1] if _attribute(node, "transB", 0) else two
    for dim, other in ((one[-1], two[-2]), (two[-2], one[-1])):
        if isinstance(dim, Size) and isinstance(other, int):
            needs.append(Need(dim, node, equal=other))
    longer = one if len(one) >= len(two) else two
    return [[*longer[:-2], one[-2], two[-1]]]


def _concat(node: Any, shapes: list[Sizes | None], _constants: Constants, needs: list[Need]) -> list[Sizes | None]:
    known = [shape for shape in shapes if shape is not None]
    rank, at = len(known[0]), _attribute(node, "axis", 0) % len(known[0])
    result: Sizes = []
    for axis in range(rank):
        dims = [shape[axis] for shape in known]
        if axis != at:
            result.append(_joined(dims, node, needs))
            continue
        sizes, fixed = [dim for dim in dims if isinstance(dim, Size)], [dim for dim in dims if isinstance(dim, int)]
        whole = len(known) == len(shapes) == len(sizes) + len(fixed)
        added = sum(fixed)
        if whole and len(sizes) == 1:
            result.append(sizes[0].then(partial(_line, more=added)))
        else:
            result.append(added if whole and not sizes else None)
    return [result]


def _slice(node: Any, shapes: list[Sizes | None], constants: Constants, _needs: list[Need]) -> list[Sizes | None]:
    shape = list(shapes[0] or [])
    starts, ends = constants.values(node, 1, "starts"), constants.values(node, 2, "ends")
    axes = constants.values(node, 3, "axes") or list(range(len(starts or ())))
    steps = constants.values(node, 4) or [1] * len(axes)
    if starts is None or ends is None:
        return [None]
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        shape[axis] = _step(shape[axis], partial(_sliced, part=slice(start, end, step)))
    return [shape]


def _resize(node: Any, shapes: list[Sizes | None], constants: Constants, _needs: list[Need]) -> list[Sizes | None]:
    scales = constants.values(node, 1 if node.op_type == "Upsample" or len(node.input) == 2 else 2, "scales")
    shape = shapes[0] or []
    if not scales or len(scales) != len(shape):
        return [None]
    return [[_step(dim, partial(_scaled, by=by)) for dim, by in zip(shape, scales, strict=True)]]


def _gather(node: Any, shapes: list[Sizes | None], _constants: Constants, _needs: list[Need]) -> list[Sizes | None]:
    data, indices = shapes[0], shapes[1]
    if data is None or indices is None:
        return [None]
    at = _attribute(node, "axis", 0) % len(data)
    return [[*data[:at], *indices, *data[at + 1 :]]]


def _pooled(_node: Any, shapes: list[Sizes | None], _constants: Constants, _needs: list[Need]) -> list[Sizes | None]:
    shape = shapes[0] or []
    return [[*shape[:2], *[1] * (len(shape) - 2)]]


def _reduce(node: Any, shapes: list[Sizes | None], constants: Constants, _needs: list[Need]) -> list[Sizes | None]:
    shape, axes = shapes[0] or [], constants.values(node, 1, "axes")
    gone = {axis % len(shape) for axis in axes} if axes else set(range(len(shape)))
    keepdims = _attribute(node, "keepdims", 1)
    return [[1 if axis in gone else dim for axis, dim in enumerate(shape) if keepdims or axis not in gone]]


def _recurrent(node: Any, shapes: list[Sizes | None], _constants: Constants, needs: list[Need]) -> list[Sizes | None]:
    data, weight, hidden = shapes[0] or [], shapes[1] or [], _attribute(node, "hidden_size")
    if isinstance(data[2], Size) and isinstance(weight[2], int):
        needs.append(Need(data[2], node, equal=weight[2]))
    return [[data[0], weight[0], data[1], hidden], [weight[0], data[1], hidden], [weight[0], data[1], hidden]]


_SAME = """
Abs BatchNormalization Cast Ceil Clip Cos CumSum Dropout Elu Erf Exp Floor Gelu HardSigmoid HardSwish Identity
InstanceNormalization LRN LayerNormalization LeakyRelu Log LogSoftmax Mish Neg Not Reciprocal Relu Round Selu
Sigmoid Sign Sin Softmax Softplus Softsign Sqrt Tanh ThresholdedRelu QuantizeLinear DequantizeLinear
"""
_BROADCAST = "Add And Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mod Mul Or PRelu Pow Sub Sum Where"
RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_SAME.split(), _same),
    **dict.fromkeys(_BROADCAST.split(), _broadcast),
    **dict.fromkeys(("Conv", "MaxPool", "AveragePool", "LpPool"), _window),
    **dict.fromkeys(("MatMul", "Gemm"), _matmul),
    **dict.fromkeys(("Resize", "Upsample"), _resize),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool"), _pooled),
    **dict.fromkeys(("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL2"), _reduce),
    **dict.fromkeys(("LSTM", "GRU", "RNN"), _recurrent),
    "ConvTranspose": _transposed,
    "Pad": _pad,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Reshape": _reshape,
    "Concat": _concat,
    "Slice": _slice,
    "Gather": _gather,
}
