"""Random valid graphs, composed of the one-node models of the installed `onnx` package.

Every node is run as it is added, by the package's own reference evaluator and by ONNX Runtime without optimisation, so
that shapes are known, all values are finite, and nobody computes the node otherwise to begin with. Tensors are bent to
the shape and the range in which the package tries an operator.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from polycmp.testing.nodes import NodeCase, node_cases
from truth.build import Array, Graph, Net

OPSET, IR = 21, 10
_MOST_ELEMENTS = 20_000
_LARGEST = 1e4
#: Operators that make random numbers, or loss values that are no part of inference.
_LEFT_OUT = frozenset({"Dropout", "SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss", "OptionalGetElement"})
#: In training mode ONNX Runtime 1.31 writes the running mean and variance over the memory of those it reads, whoever
#: else reads them, and over weights, so that a second run differs: a fault of its own, which scenarios have.
_REUSING = frozenset({"BatchNormalization"})


@cache
def usable_cases() -> Mapping[str, tuple[NodeCase, ...]]:
    """Return the cases by operator that ONNX Runtime computes as the package expects, of float32 to float32."""
    found: dict[str, list[NodeCase]] = {}
    for case in node_cases():
        node = case.model.graph.node[0]
        if not node.domain and node.op_type not in _LEFT_OUT and _has_floats(case) and _runs(case):
            found.setdefault(node.op_type, []).append(case)
    return {name: tuple(cases) for name, cases in sorted(found.items())}


def _has_floats(case: NodeCase) -> bool:
    fed = any(array.dtype == np.float32 and array.size > 1 for array in case.feed.values())
    small = sum(array.size for array in case.feed.values()) <= _MOST_ELEMENTS
    return fed and small and any(array.dtype == np.float32 for array in case.expected.values())


def _runs(case: NodeCase) -> bool:
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    del model.opset_import[:]
    model.opset_import.append(helper.make_opsetid("", OPSET))
    model.ir_version = IR
    try:
        return _agree(_run_onnxrt(model, case.feed), list(case.expected.values()))
    except Exception:  # noqa: BLE001 - whatever a runtime refuses is left out
        return False


def _run_onnxrt(model: onnx.ModelProto, feed: Mapping[str, Array]) -> list[Array]:
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [np.asarray(array) for array in session.run(None, dict(feed))]


def _agree(made: Sequence[Array], expected: Sequence[Array]) -> bool:
    return all(
        one.shape == two.shape and (one.dtype.kind not in "fiub" or np.allclose(one, two, 1e-3, 1e-4, equal_nan=True))
        for one, two in zip(made, map(np.asarray, expected), strict=True)
    )


class Composer:
    """Adds random operators to a graph.

    Args:
        seed: What everything is drawn from.
    """

    def __init__(self, seed: int) -> None:
        self.g = Graph(f"random{seed}", seed, OPSET)
        self.rng = self.g.rng
        self.known: dict[str, Array] = {}
        self.read: set[str] = set()
        self.made: list[str] = []
        self.count = 0

    def compose(self, length: int) -> Net:
        """Return a graph of about so many operators with random inputs."""
        for number in range(int(self.rng.integers(1, 4))):
            shape = [(3, 4, 5), (2, 3, 4, 5), (3, 2, 2), (1, 3, 8, 8), (4, 6)][int(self.rng.integers(5))]
            name = self.g.input(f"in{number}", self.g.normal(*shape))
            self.known[name] = self.g.feed[name]
        while len(self.g.nodes) < length:
            step = self.rng.random()
            with self._undone_if_it_fails():
                if step < 0.15:
                    self._join()
                elif step < 0.25:
                    self._other_type()
                else:
                    self._operator()
        leaves = [name for name in self.made if name not in self.read]
        for name in leaves:
            self.g.output(name, kind=helper.np_dtype_to_tensor_dtype(self.known[name].dtype))
        net = self.g.net()
        net.model.ir_version = IR
        return net

    @contextlib.contextmanager
    def _undone_if_it_fails(self) -> Any:
        g = self.g
        before = len(g.nodes), len(g.weights), dict(self.known), set(self.read), len(self.made)
        try:
            yield
        except Exception:  # noqa: BLE001 - an operator that does not fit is no part of the graph
            del g.nodes[before[0] :], g.weights[before[1] :], self.made[before[4] :]
            self.known, self.read = before[2], before[3]

    def _name(self, op: str) -> str:
        self.count += 1
        return f"{op}_{self.count}"

    def _add(self, node: onnx.NodeProto, constants: Mapping[str, Array] | None = None) -> list[str]:
        """Run a node, and add it if what it makes are finite numbers."""
        constants = constants or {}
        reads = {name: constants[name] if name in constants else self.known[name] for name in node.input if name}
        outputs = [name for name in node.output if name]
        graph = helper.make_graph([node], "one", [_info(name, array) for name, array in reads.items()], [
            helper.make_empty_tensor_value_info(name) for name in outputs
        ])  # fmt: skip
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            made = ReferenceEvaluator(model).run(None, reads)
            if not _agree(_run_onnxrt(model, reads), made):
                raise ValueError("implementations disagree about this operator here")
        for array in made:
            values = np.asarray(array)
            if not values.size or values.dtype.kind not in "fiub" or values.size > _MOST_ELEMENTS:
                raise ValueError("nothing to go on with")
            if values.dtype.kind == "f" and not (np.abs(values.astype(np.float64)) < _LARGEST).all():
                raise ValueError("too large")
        self.g.weights += [numpy_helper.from_array(array, name) for name, array in constants.items()]
        self.g.nodes.append(node)
        self.read |= {name for name in reads if name not in constants}
        self.known.update({name: np.asarray(array) for name, array in zip(outputs, made, strict=True)})
        self.made += outputs
        return outputs

    def _node(self, op: str, reads: Sequence[str], constants: Mapping[str, Array] | None = None, **attrs: Any) -> str:
        name = self._name(op)
        return self._add(helper.make_node(op, list(reads), [name], name=name, **attrs), constants)[0]

    def _pick(self, shape: tuple[int, ...] | None = None) -> str:
        """Return a tensor of float32, of a shape if there is one; later ones are likelier."""
        names = [name for name, array in self.known.items() if array.dtype == np.float32]
        fitting = [name for name in names if shape is not None and self.known[name].shape == shape]
        names = fitting or names
        share = np.arange(1, len(names) + 1) ** 1.5
        return names[int(self.rng.choice(len(names), p=share / share.sum()))]

    def _fit(self, like: Array) -> str:
        """Return a tensor of the shape of another, in about its range."""
        source = self._pick(like.shape)
        if self.known[source].shape != like.shape:
            flat = self._reshape(source, (-1,))
            if self.known[flat].size != like.size:
                index = self._name("index")
                places = np.arange(like.size, dtype=np.int64) % self.known[flat].size
                flat = self._node("Gather", [flat, index], {index: places})
            source = self._reshape(flat, like.shape)
        low, high = float(like.min()), float(like.max())
        values = self.known[source]
        margin = 1 + (high - low)
        if values.min() < low - margin * (low < 0) or values.max() > high + margin * (high > 0):
            scale, shift = self._name("scale"), self._name("shift")
            squashed = self._node("Sigmoid", [source])
            wide = self._node("Mul", [squashed, scale], {scale: np.float32(high - low)})
            source = self._node("Add", [wide, shift], {shift: np.float32(low)})
        return source

    def _reshape(self, source: str, shape: Sequence[int]) -> str:
        name = self._name("shape")
        return self._node("Reshape", [source, name], {name: np.array(shape, np.int64)})

    def _operator(self) -> None:
        """Add an operator of the package's cases: on a tensor as it is if that works, else on one that is bent."""
        by_name = usable_cases()
        cases = by_name[list(by_name)[int(self.rng.integers(len(by_name)))]]
        case = cases[int(self.rng.integers(len(cases)))]
        try:
            self._case(case, bend=False)
        except Exception:  # noqa: BLE001 - shapes or ranges do not fit
            self._case(case, bend=True)

    def _case(self, case: NodeCase, *, bend: bool) -> None:
        node = onnx.NodeProto()
        node.CopyFrom(case.model.graph.node[0])
        if node.op_type in _REUSING and any(item.name == "training_mode" and item.i for item in node.attribute):
            raise ValueError("it writes over what it reads")
        constants: dict[str, Array] = {}
        for place, name in enumerate(node.input):
            if not name:
                continue
            array = np.asarray(case.feed[name])
            if array.dtype == np.float32 and array.size > 1 and (place == 0 or self.rng.random() < 0.3):
                node.input[place] = self._fit(array) if bend else self._alike(array)
            else:
                node.input[place] = self._name("const")
                constants[node.input[place]] = array
        node.name = self._name(node.op_type)
        node.output[:] = [f"{node.name}.{place}" if place else node.name for place, name in enumerate(node.output)]
        self._add(node, constants)

    def _alike(self, like: Array) -> str:
        """Return a tensor of about the range of another and of as many dimensions."""
        margin = 1 + float(np.ptp(like))
        low, high = float(like.min()), float(like.max())
        names = [
            name for name, array in self.known.items()
            if array.dtype == np.float32 and array.ndim == like.ndim
            and array.min() >= low - margin * (low < 0) and array.max() <= high + margin * (high > 0)
        ]  # fmt: skip
        return names[int(self.rng.integers(len(names)))]

    def _join(self) -> None:
        """Join two tensors of a shape: a residual connection, a gate, a concatenation."""
        one = self._pick()
        two = self._pick(self.known[one].shape)
        op = ["Add", "Mul", "Sub", "Concat"][int(self.rng.integers(4))]
        attributes: dict[str, Any] = {"axis": 0} if op == "Concat" else {}
        self._node(op, [one, two], **attributes)

    def _other_type(self) -> None:
        """Do something in another type and come back."""
        kind = [TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64, TensorProto.FLOAT16][
            int(self.rng.integers(4))
        ]
        there = self._node("Cast", [self._pick()], to=kind)
        op = ["Add", "Mul"][int(self.rng.integers(2))]
        self._node("Cast", [self._node(op, [there, there])], to=TensorProto.FLOAT)


def _info(name: str, array: Array) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def random_net(seed: int) -> Net:
    """Return a random graph of 5 to 60 operators with random inputs, which ONNX Runtime runs as a whole."""
    rng = np.random.default_rng(seed)
    while True:
        net = Composer(int(rng.integers(2**31))).compose(int(rng.integers(5, 61)))
        with contextlib.suppress(Exception):
            _run_onnxrt(net.model, net.feed)
            return net
