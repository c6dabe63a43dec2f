"""Random ONNX models of all that exporters write: graphs in graphs, functions, sequences, odd names, odd types.

Every model is valid, and computes the same each time: the commands that write models are tried on them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

_FLOAT, _INT, _BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
#: Versions of ONNX's format, each with an opset of its time.
VERSIONS = ((3, 8), (3, 9), (4, 11), (7, 13), (8, 15), (8, 17), (9, 19), (10, 21), (11, 23))
#: Things in names that formats, shells and file names take badly.
_ODD = ("", "é", "日本", "/a/b", ":0", " x", "\\", "'", "[0]", "*", ".weight", "%s", "😀")
_NARROW = (
    (TensorProto.INT4, ml_dtypes.int4),
    (TensorProto.UINT4, ml_dtypes.uint4),
    (TensorProto.INT8, np.int8),
    (TensorProto.UINT8, np.uint8),
)


class Tensor(NamedTuple):
    """A tensor of a graph that is being made.

    Attributes:
        name: Its name.
        shape: Its dimensions.
    """

    name: str
    shape: tuple[int, ...]


@dataclass
class Odd:
    """A model with inputs.

    Attributes:
        model: The model.
        feed: Its inputs by name.
        cliff: Whether an error of rounding may change results by much.
        inner: Names of tensors of float32 inside.
    """

    model: Any
    feed: dict[str, Any]
    cliff: bool
    inner: list[str]


@dataclass
class _Room:
    """A graph, or the body of a function, on its way.

    Attributes:
        tensors: Tensors of float32 that may be read, those of the graphs around it included.
        nodes: Its nodes.
        weights: Its weights.
        own: How many of `tensors` come from around it.
    """

    tensors: list[Tensor]
    nodes: list[Any] = field(default_factory=list)
    weights: list[Any] = field(default_factory=list)
    own: int = 0


def odd_model(seed: int) -> Odd:
    """Return a random model with inputs.

    Args:
        seed: The same makes the same model.
    """
    return _Maker(seed).make()


class _Maker:
    """Makes one model."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.version, self.opset = VERSIONS[self.random.integers(len(VERSIONS))]
        self.functions: dict[str, Any] = {}
        self.feed: dict[str, Any] = {}
        self.inputs: list[Any] = []
        self.cliff = False
        self._count = 0
        self._tag = str(self.random.choice(_ODD))
        self._inner: list[str] = []

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def name(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}{self._tag if self.chance(0.4) else ''}"

    def array(self, shape: Sequence[int]) -> np.ndarray[Any, Any]:
        return self.random.uniform(-1, 1, tuple(shape)).astype(np.float32)

    def make(self) -> Odd:
        shapes = [(int(self.random.integers(1, 4)), 4) for _ in range(self.random.integers(1, 4))]
        room = _Room([self._input(shape) for shape in shapes])
        if self.chance(0.4):
            self._unused_input()
        for _ in range(self.random.integers(3, 12)):
            self.step(room, depth=0)
        outputs = self._outputs(room)
        graph = helper.make_graph(room.nodes, self.name("graph"), self.inputs, outputs, room.weights)
        if self.version < 4 or self.chance(0.15):
            graph.input.extend(
                helper.make_tensor_value_info(item.name, item.data_type, item.dims) for item in room.weights
            )
        domains = [helper.make_opsetid("", self.opset)]
        if self.functions:
            domains.append(helper.make_opsetid("my", 1))
        model = helper.make_model(
            graph, opset_imports=domains, functions=list(self.functions.values()), ir_version=self.version
        )
        return Odd(model, self.feed, self.cliff, self._inner)

    def _input(self, shape: tuple[int, ...]) -> Tensor:
        name = self.name("in")
        declared: list[int | str] = list(shape)
        if self.chance(0.5):
            declared[0] = f"n{self._count}"
        self.inputs.append(helper.make_tensor_value_info(name, _FLOAT, declared))
        self.feed[name] = self.array(shape)
        return Tensor(name, shape)

    def _unused_input(self) -> None:
        name = self.name("mask")
        self.inputs.append(helper.make_tensor_value_info(name, _BOOL, [2]))
        self.feed[name] = np.array([True, False])

    def _outputs(self, room: _Room) -> list[Any]:
        made = [item for item in room.tensors if any(item.name in node.output for node in room.nodes)]
        chosen = [made[-1], *(item for item in made[:-1] if self.chance(0.15))]
        self._inner = [item.name for item in made[:-1]]
        if self.chance(0.12) and room.weights:
            item = room.weights[0]
            extra = [helper.make_tensor_value_info(item.name, item.data_type, item.dims)]
        else:
            extra = []
        if self.chance(0.06):
            chosen.append(room.tensors[0])  # an input that goes straight out
        known = {item.name: item for item in chosen}
        return [
            helper.make_tensor_value_info(name, _FLOAT, self._declared(item.shape)) for name, item in known.items()
        ] + extra

    def _declared(self, shape: tuple[int, ...]) -> list[Any]:
        return [None if index == 0 and self.chance(0.5) else dim for index, dim in enumerate(shape)]

    # What graphs are made of

    def pick(self, room: _Room) -> Tensor:
        recent = room.tensors[-4:] if self.chance(0.7) else room.tensors
        return recent[self.random.integers(len(recent))]

    def weight(self, room: _Room, array: np.ndarray[Any, Any], *, shared: bool = True) -> str:
        """Return the name of a weight: an initializer, one used before, or a Constant in one of its spellings."""
        same = [item.name for item in room.weights if tuple(item.dims) == array.shape and item.data_type == _FLOAT]
        if shared and same and array.dtype == np.float32 and self.chance(0.3):
            return str(same[0])
        name = self.name("w")
        if self.chance(0.3):
            spelled = {}
            if self.opset >= 12 and array.dtype in (np.float32, np.int64) and array.ndim < 2 and self.chance(0.5):
                kind = "value_float" if array.dtype == np.float32 else "value_int"
                spelled = {f"{kind}s": array.tolist()} if array.ndim else {kind: array.item()}
            else:
                spelled = {"value": numpy_helper.from_array(array, self.name("c"))}
            room.nodes.append(helper.make_node("Constant", [], [name], **spelled))
        else:
            room.weights.append(numpy_helper.from_array(array, name))
        return name

    def add(self, room: _Room, op: str, inputs: Sequence[str], shape: Sequence[int] | None, **attributes: Any) -> str:
        """Add a node; note what it makes where that is a tensor of float32 of a known shape."""
        made = self.name(op.lower())
        named = self.name("node") if self.chance(0.6) else "twice" if self.chance(0.1) else ""
        room.nodes.append(helper.make_node(op, list(inputs), [made], named, **attributes))
        if shape is not None:
            room.tensors.append(Tensor(made, tuple(shape)))
        return made

    def step(self, room: _Room, depth: int) -> None:
        """Add an operator, or something larger."""
        steps: list[Callable[[_Room, int], None]] = [
            self.unary, self.unary, self.binary, self.binary, self.matmul, self.concat, self.reshape, self.clip,
            self.reduce, self.through_types, self.sizes, self.split, self.folded, self.layout, self.pooled,
        ]  # fmt: skip
        if self.opset >= 11:
            steps += [self.sequence, self.branch, self.loop, self.scan]
        if self.opset >= 15 and self.version >= 8:
            steps += [self.function, self.function, self.optional]
        if self.opset >= 13:
            steps += [self.quantised, self.grid]
        if self.opset >= 21:
            steps += [self.low_bit, self.low_bit]
        chosen = steps[self.random.integers(len(steps))]
        if depth > 1 and chosen in (self.branch, self.loop, self.scan):
            chosen = self.unary
        chosen(room, depth)

    def unary(self, room: _Room, _: int) -> None:
        source = self.pick(room)
        op = str(self.random.choice(["Relu", "Neg", "Abs", "Tanh", "Sigmoid", "Identity", "Softplus", "Cos"]))
        self.add(room, op, [source.name], source.shape)

    def binary(self, room: _Room, _: int) -> None:
        source = self.pick(room)
        op = str(self.random.choice(["Add", "Mul", "Sub"]))
        fitting = [item.name for item in room.tensors if item.shape == source.shape]
        if self.chance(0.5):
            other = fitting[self.random.integers(len(fitting))]
        else:
            shape = [(), (source.shape[-1],), source.shape][self.random.integers(3)] if source.shape else ()
            other = self.weight(room, self.array(shape))
        bounded = self.add(room, op, [source.name, other], None)
        self.add(room, "Tanh", [bounded], source.shape)

    def matmul(self, room: _Room, _: int) -> None:
        source = self.pick(room)
        if not source.shape:
            return
        weight = self.weight(room, self.array((source.shape[-1], 4)) / 2)
        self.add(room, "MatMul", [source.name, weight], (*source.shape[:-1], 4))

    def concat(self, room: _Room, _: int) -> None:
        source = self.pick(room)
        if source.shape and source.shape[-1] <= 16:
            self.add(
                room,
                "Concat",
                [source.name] * 2,
                (*source.shape[:-1], source.shape[-1] * 2),
                axis=len(source.shape) - 1,
            )

    def reshape(self, room: _Room, _: int) -> None:
        source = self.pick(room)
        shape = self.add(room, "Shape", [source.name], None)
        if self.chance(0.5) or self.opset < 9:
            flat = self.add(room, "Reshape", [source.name, self.weight(room, np.array([-1]))], None)
            self.add(room, "Reshape", [flat, shape], source.shape)
        else:
            zero = self.add(room, "ConstantOfShape", [shape], None)
            self.add(room, "Add", [source.name, zero], source.shape)

    def clip(self, room: _Room, _: int) -> None:
        source = self.pick(room)
        if self.opset < 11:
            self.add(room, "Clip", [source.name], source.shape, min=-0.5, max=0.75)
            return
        low = self.weight(room, np.array(-0.5, np.float32), shared=False) if self.chance(0.5) else ""
        high = self.weight(room, np.array(0.75, np.float32), shared=False)
        self.add(room, "Clip", [source.name, low, high], source.shape)

    def reduce(self, room: _Room, _: int) -> None:
        source = self.pick(room)
        if source.shape:
            self.add(room, "ReduceMean" if self.opset < 18 else "ReduceMax", [source.name], (*source.shape[:-1], 1),
                     **({"axes": [-1]} if self.opset < 18 and self.opset >= 11 else {}))  # fmt: skip
            if not (11 <= self.opset < 18):
                room.tensors.pop()

    def through_types(self, room: _Room, _: int) -> None:
        source = self.pick(room)
        kinds = [TensorProto.DOUBLE, TensorProto.FLOAT16]
        if self.opset >= 13:
            kinds.append(TensorProto.BFLOAT16)
        if self.chance(0.25):
            kinds, self.cliff = [TensorProto.INT32, _INT, _BOOL, TensorProto.UINT8], True
            source = Tensor(self.add(room, "Abs", [source.name], None), source.shape)
        other = self.add(room, "Cast", [source.name], None, to=int(self.random.choice(kinds)))
        self.add(room, "Cast", [other], source.shape, to=_FLOAT)

    def sizes(self, room: _Room, _: int) -> None:
        """Divide by a size, as exporters compute means."""
        source = self.pick(room)
        shape = self.add(room, "Shape", [source.name], None)
        if not source.shape:
            return
        size = self.add(room, "Gather", [shape, self.weight(room, np.array(len(source.shape) - 1))], None, axis=0)
        real = self.add(room, "Cast", [size], None, to=_FLOAT)
        self.add(room, "Div", [source.name, real], source.shape)

    def grid(self, room: _Room, _: int) -> None:
        """Add positions, as detectors and position embeddings have them."""
        source = self.pick(room)
        if not source.shape:
            return
        shape = self.add(room, "Shape", [source.name], None)
        size = self.add(room, "Gather", [shape, self.weight(room, np.array(len(source.shape) - 1))], None, axis=0)
        end = self.add(room, "Cast", [size], None, to=_FLOAT)
        scalars = [self.weight(room, np.array(value, np.float32), shared=False) for value in (0, 1)]
        row = self.add(room, "Range", [scalars[0], end, scalars[1]], None)
        self.add(room, "Add", [source.name, row], source.shape)

    def split(self, room: _Room, _: int) -> None:
        source = self.pick(room)
        if not source.shape or source.shape[-1] % 2:
            return
        half = (*source.shape[:-1], source.shape[-1] // 2)
        names = [self.name("part"), self.name("part")]
        more: dict[str, Any] = {"num_outputs": 2} if self.opset >= 18 else {}
        room.nodes.append(helper.make_node("Split", [source.name], names, axis=len(half) - 1, **more))
        room.tensors += [Tensor(name, half) for name in names]

    def folded(self, room: _Room, _: int) -> None:
        """Compute with weights alone."""
        source = self.pick(room)
        first, second = (self.weight(room, self.array((4,))) for _ in range(2))
        total = self.add(room, "Mul", [first, second], None)
        if source.shape and source.shape[-1] == 4:
            self.add(room, "Add", [source.name, total], source.shape)

    def layout(self, room: _Room, _: int) -> None:
        source = self.pick(room)
        if len(source.shape) == 2:
            self.add(room, "Transpose", [source.name], source.shape[::-1], perm=[1, 0])

    def pooled(self, room: _Room, _: int) -> None:
        """Use an operator with an output that nobody names."""
        source = self.pick(room)
        if self.opset >= 10 and source.shape and source.shape[-1] >= 2:
            self.cliff = True
            made = self.name("topk")
            count = self.weight(room, np.array([2]))
            room.nodes.append(helper.make_node("TopK", [source.name, count], [made, self.name("places")]))
            room.tensors.append(Tensor(made, (*source.shape[:-1], 2)))
        elif self.opset >= 12:
            made = self.name("drop")
            room.nodes.append(helper.make_node("Dropout", [source.name], [made, ""]))
            room.tensors.append(Tensor(made, source.shape))

    def quantised(self, room: _Room, _: int) -> None:
        source = self.pick(room)
        scale = self.weight(room, np.array(0.02, np.float32), shared=False)
        point = self.weight(room, np.array(3, np.int8), shared=False)
        self.cliff = True
        codes = self.add(room, "QuantizeLinear", [source.name, scale, point], None)
        self.add(room, "DequantizeLinear", [codes, scale, point], source.shape)

    def low_bit(self, room: _Room, _: int) -> None:
        """Use a weight of few bits."""
        source = self.pick(room)
        if not source.shape or source.shape[-1] != 4:
            return
        kind, dtype = _NARROW[self.random.integers(len(_NARROW))]
        name = self.name("low")
        values = self.random.integers(0, 7, 4).astype(dtype)
        room.weights.append(helper.make_tensor(name, kind, [4], values.astype(np.int8).tolist()))
        scale = self.weight(room, np.array(0.1, np.float32), shared=False)
        wide = self.add(room, "DequantizeLinear", [name, scale], None)
        self.add(room, "Add", [source.name, wide], source.shape)

    def sequence(self, room: _Room, _: int) -> None:
        source = self.pick(room)
        if not source.shape:
            return
        other = self.add(room, "Neg", [source.name], None)
        held = self.add(room, "SequenceConstruct", [source.name, other], None)
        if self.chance(0.5):
            held = self.add(room, "SequenceInsert", [held, source.name], None)
        if self.chance(0.5):
            place = self.weight(room, np.array(1))
            self.add(room, "SequenceAt", [held, place], source.shape)
        else:
            joined = self.add(room, "ConcatFromSequence", [held], None, axis=0, new_axis=1)
            first = self.weight(room, np.array(0))
            self.add(room, "Gather", [joined, first], source.shape, axis=0)

    def optional(self, room: _Room, _: int) -> None:
        source = self.pick(room)
        if self.opset < 18:
            return
        held = self.add(room, "Optional", [source.name], None)
        self.add(room, "OptionalGetElement", [held], source.shape)

    def inside(self, room: _Room) -> _Room:
        """Return a room within another."""
        return _Room(list(room.tensors), own=len(room.tensors))

    def body(self, room: _Room, shape: tuple[int, ...], start: str, depth: int) -> tuple[_Room, str]:
        """Return a graph inside that makes a tensor of a shape out of another."""
        inner = self.inside(room)
        inner.tensors.append(Tensor(start, shape))
        for _ in range(self.random.integers(0, 3)):
            self.step(inner, depth + 1)
        fitting = [item.name for item in inner.tensors if item.shape == shape]
        other = fitting[self.random.integers(len(fitting))]
        total = self.add(inner, "Add", [start, other], None)
        return inner, self.add(inner, "Tanh", [total], None)

    def branch(self, room: _Room, depth: int) -> None:
        source = self.pick(room)
        self.cliff = True
        if self.chance(0.5) and depth == 0:
            condition = self.name("cond")
            self.inputs.append(helper.make_tensor_value_info(condition, _BOOL, []))
            self.feed[condition] = np.array(self.chance(0.5))
        else:
            axes = {"keepdims": 0}
            total = self.add(room, "ReduceMax", [source.name], None, **axes)
            condition = self.add(
                room, "Greater", [total, self.weight(room, np.array(0.1, np.float32), shared=False)], None
            )
        graphs, count = {}, self._count
        for key in ("then_branch", "else_branch"):
            if self.chance(0.5):
                self._count = count  # both branches may give their tensors the same names
            inner, made = self.body(room, source.shape, source.name, depth)
            output = helper.make_tensor_value_info(made, _FLOAT, None)
            graphs[key] = helper.make_graph(inner.nodes, key, [], [output], inner.weights)
            count, self._count = (count, max(self._count, count)) if key == "then_branch" else (count, self._count + 50)
        self.add(room, "If", [condition], source.shape, **graphs)

    def loop(self, room: _Room, depth: int) -> None:
        source = self.pick(room)
        start, turn, going, further = (self.name(kind) for kind in ("state", "i", "go", "on"))
        inner, made = self.body(room, source.shape, start, depth)
        inner.nodes.append(helper.make_node("Identity", [going], [further]))
        value = helper.make_tensor_value_info
        outputs = [value(further, _BOOL, []), value(made, _FLOAT, source.shape)]
        each = self.chance(0.4)
        if each:
            kept = self.name("kept")
            inner.nodes.append(helper.make_node("Neg", [made], [kept]))
            outputs.append(value(kept, _FLOAT, source.shape))
        graph = helper.make_graph(
            inner.nodes, "body", [value(turn, _INT, []), value(going, _BOOL, []), value(start, _FLOAT, source.shape)],
            outputs, inner.weights,
        )  # fmt: skip
        result = self.name("loop")
        results = [result, self.name("each")] if each else [result]
        count = self.weight(room, np.array(2))
        room.nodes.append(helper.make_node("Loop", [count, "", source.name], results, body=graph))
        room.tensors.append(Tensor(result, source.shape))

    def scan(self, room: _Room, depth: int) -> None:
        source = self.pick(room)
        if len(source.shape) != 2:
            return
        row = (source.shape[1],)
        start, item = self.name("sum"), self.name("row")
        inner, made = self.body(room, row, start, depth)
        total, each = self.name("total"), self.name("each")
        inner.nodes += [helper.make_node("Add", [made, item], [total]), helper.make_node("Tanh", [total], [each])]
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            inner.nodes, "scan", [value(start, _FLOAT, row), value(item, _FLOAT, row)],
            [value(total, _FLOAT, row), value(each, _FLOAT, row)], inner.weights,
        )  # fmt: skip
        first = self.weight(room, self.array(row))
        last, rows = self.name("last"), self.name("rows")
        room.nodes.append(helper.make_node("Scan", [first, source.name], [last, rows], body=graph, num_scan_inputs=1))
        room.tensors.append(Tensor(rows, source.shape))

    def function(self, room: _Room, _: int) -> None:
        """Call a function of the model, which may be named like an operator."""
        source = self.pick(room)
        name = str(self.random.choice(["Relu", "Shape", "Block", "Ünï"]))
        if name not in self.functions:
            opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("my", 1)]
            nodes = [
                helper.make_node("Constant", [], ["k"], value_float=float(self.random.uniform(0.1, 0.9))),
                helper.make_node("Mul", ["p", "k"], ["h"]),
                helper.make_node("Tanh", ["h"], ["q"]),
            ]
            other = next((key for key in self.functions if key != name), None)
            if other is not None and self.chance(0.5):
                nodes[-1] = helper.make_node(other, ["h"], ["q"], domain="my")
            self.functions[name] = helper.make_function("my", name, ["p"], ["q"], nodes, opsets)
        self.add(room, name, [source.name], source.shape, domain="my")


def checked(odd: Odd) -> bool:
    """Return whether ONNX takes a model."""
    try:
        onnx.checker.check_model(odd.model, full_check=True)
    except Exception:  # noqa: BLE001 - it raises whatever it meets
        return False
    return True
