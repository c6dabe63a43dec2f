"""Recurrent operators, loops and sequences of tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from truth.operators.case import F32, Array, Case, draw, each, int64s, versions

_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
_FUNCTIONS = (
    "Relu",
    "Tanh",
    "Sigmoid",
    "Affine",
    "LeakyRelu",
    "ThresholdedRelu",
    "ScaledTanh",
    "HardSigmoid",
    "Elu",
    "Softsign",
    "Softplus",
)
#: How many activations a direction of each has.
_COUNT = {"RNN": 1, "GRU": 2, "LSTM": 3}


def recurrent() -> Iterator[Case]:
    """Make cases of RNN, GRU and LSTM over directions, optional inputs, activations and clipping."""
    for operator in _GATES:
        for direction in (None, "forward", "reverse", "bidirectional"):
            for dtype in (np.float32, np.float64, np.float16):
                given = _weights(operator, 2 if direction == "bidirectional" else 1, np.dtype(dtype))
                yield from _over_inputs(operator, direction, given)
            given = _weights(operator, 2 if direction == "bidirectional" else 1, F32)
            count = _COUNT[operator] * (2 if direction == "bidirectional" else 1)
            for name in _FUNCTIONS:
                named = {"activations": [[name] * count]}
                yield from _told(operator, direction, given, [0, 1, 2, 3], **named)
                yield from _told(
                    operator,
                    direction,
                    given,
                    [0, 1, 2],
                    activation_alpha=[[0.7] * count],
                    activation_beta=[[0.2] * count],
                    clip=[None, 0.4],
                    **named,
                )
            for clip in (0.1, 2.0):
                yield from _told(operator, direction, given, [0, 1, 2, 3, 4, 5], clip=[clip])


def _weights(operator: str, directions: int, dtype: np.dtype[Any]) -> list[Array]:
    gates, hidden, batch, length, width = _GATES[operator], 4, 3, 5, 2
    draws = [
        draw(length, batch, width, dtype=dtype),
        draw(directions, gates * hidden, width, dtype=dtype, seed=1) * dtype.type(0.3),
        draw(directions, gates * hidden, hidden, dtype=dtype, seed=2) * dtype.type(0.3),
        draw(directions, 2 * gates * hidden, dtype=dtype, seed=3),
        np.array([2, 5, 1], np.int32),
        draw(directions, batch, hidden, dtype=dtype, seed=4),
    ]
    if operator == "LSTM":
        draws += [
            draw(directions, batch, hidden, dtype=dtype, seed=5),
            draw(directions, 3 * hidden, dtype=dtype, seed=6),
        ]
    return draws


def _over_inputs(operator: str, direction: str | None, given: Sequence[Array]) -> Iterator[Case]:
    sets = [[0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4], [0, 1, 2, 4], [0, 1, 2, 3, 5], list(range(len(given)))]
    sets += [[0, 1, 2, 3, 7], [0, 1, 2, 3, 6]] if operator == "LSTM" else []
    for places in sets:
        more = {"linear_before_reset": [None, 1]} if operator == "GRU" else {}
        more = {"input_forget": [None, 1]} if operator == "LSTM" else more
        yield from _told(operator, direction, given, places, **more)


def _told(
    operator: str, direction: str | None, given: Sequence[Array], places: Sequence[int], **choices: Any
) -> Iterator[Case]:
    for layout in (None, 1):
        kept = [given[at] if at in places else None for at in range(max(places) + 1)]
        if layout:  # batch first, of the data and of the states
            kept = [
                np.ascontiguousarray(np.swapaxes(item, 0, 1)) if at in {0, 5, 6} and item is not None else item
                for at, item in enumerate(kept)
            ]
        yield from each(
            operator,
            kept,
            outputs=3 if operator == "LSTM" else 2,
            hidden_size=[4],
            direction=[direction],
            layout=[layout],
            **choices,
        )


def _value(name: str, kind: int = TensorProto.FLOAT, shape: Any = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _case(operator: str, opset: int, told: str, feed: dict[str, Array], nodes: list[Any], outputs: list[str]) -> Case:
    return Case(operator, opset, {"asked": told} if told else {}, feed, nodes, outputs)


def loops() -> Iterator[Case]:
    """Make cases of If, Loop and Scan."""
    for opset, _ in versions("If"):
        for chosen in (True, False):
            for condition in (np.array(chosen), np.array([chosen])):
                branches = {
                    f"{name}_branch": helper.make_graph([helper.make_node(op, ["x"], [name])], name, [], [_value(name)])
                    for name, op in (("then", "Neg"), ("else", "Abs"))
                }
                node = helper.make_node("If", ["c"], ["y"], **branches)
                yield _case("If", opset, f"{chosen}", {"c": condition, "x": draw(2, 3)}, [node], ["y"])
    for opset, _ in versions("Loop"):
        yield from _loop(opset)
    for opset, _ in versions("Scan"):
        if opset >= 9:
            yield from _scan(opset)
    yield from _scan_8()


def _loop(opset: int) -> Iterator[Case]:
    for shape, count, condition, stops in (
        ([2], 3, True, False),
        ([2], 3, None, False),
        ([], 4, True, True),
        ([2, 1], None, True, True),
        ([2], 0, True, False),
        ([3], 5, False, False),
        ([2], 3, None, True),
    ):
        going = [helper.make_node("Identity", ["going"], ["on"])]
        if stops:
            going = [
                helper.make_node("Constant", [], ["limit"], value=helper.make_tensor("v", 7, [], [2])),
                helper.make_node("Less", ["trip", "limit"], ["on"]),
            ]
        body = helper.make_graph(
            [*going, helper.make_node("Add", ["state", "x"], ["next"]), helper.make_node("Neg", ["next"], ["scanned"])],
            "body",
            [_value("trip", TensorProto.INT64, []), _value("going", TensorProto.BOOL, []), _value("state", 1, shape)],
            [_value("on", TensorProto.BOOL, []), _value("next", 1, shape), _value("scanned", 1, shape)],
        )
        feed = {"x": draw(*shape)}
        names = ["", "", "x"]
        if count is not None:
            feed["count"], names[0] = np.array(count, np.int64), "count"
        if condition is not None:
            feed["go"], names[1] = np.array(condition), "go"
        node = helper.make_node("Loop", names, ["last", "all"], body=body)
        yield _case("Loop", opset, f"{count} {condition} {stops}", feed, [node], ["last", "all"])


def _scan_body(shape: list[int], other: list[int] | None = None) -> onnx.GraphProto:
    inputs = [_value("state", 1, shape), _value("a", 1, shape), *([_value("b", 1, other)] if other is not None else [])]
    nodes = [helper.make_node("Add", ["state", "a"], ["next" if other is None else "sum"])]
    nodes += [] if other is None else [helper.make_node("Add", ["sum", "b"], ["next"])]
    nodes += [helper.make_node("Neg", ["next"], ["scanned"])]
    return helper.make_graph(nodes, "body", inputs, [_value("next", 1, shape), _value("scanned", 1, shape)])


def _scan(opset: int) -> Iterator[Case]:
    x, state = draw(3, 4), draw(4, seed=1)
    for told in (
        {},
        {"scan_input_directions": [1]},
        {"scan_output_directions": [1]},
        {"scan_output_axes": [1]},
        {"scan_output_axes": [-1]},
        {"scan_input_axes": [0]},
        {"scan_output_axes": [1], "scan_output_directions": [1]},
    ):
        node = helper.make_node("Scan", ["s", "x"], ["last", "all"], body=_scan_body([4]), num_scan_inputs=1, **told)
        yield _case("Scan", opset, f"{told}", {"s": state, "x": x}, [node], ["last", "all"])
    for axes in ([1, 0], [-1, -2], [1, -2]):
        for directions in ([0, 0], [1, 0], [0, 1]):
            node = helper.make_node(
                "Scan",
                ["s", "x", "y"],
                ["last", "all"],
                body=_scan_body([4], []),
                num_scan_inputs=2,
                scan_input_axes=axes,
                scan_input_directions=directions,
            )
            feed = {"s": state, "x": x.T.copy(), "y": draw(3, 1, seed=2)}
            body = _scan_body([4], [1])
            node.attribute[0].CopyFrom(helper.make_attribute("body", body))
            yield _case("Scan", opset, f"{axes} {directions}", feed, [node], ["last", "all"])
    node = helper.make_node("Scan", ["s", "x"], ["last", "all"], body=_scan_body([4]), num_scan_inputs=1)
    yield _case("Scan", opset, "no iteration", {"s": state, "x": x[:0]}, [node], ["last", "all"])


def _scan_8() -> Iterator[Case]:
    for lengths, directions in ((None, [0]), (None, [1]), ([3, 2], [0])):
        node = helper.make_node(
            "Scan",
            ["n" if lengths else "", "s", "x"],
            ["last", "all"],
            body=_scan_body([4]),
            num_scan_inputs=1,
            directions=directions,
        )
        feed = {"s": draw(2, 4, seed=1), "x": draw(2, 3, 4), **({"n": int64s(lengths)} if lengths else {})}
        yield _case("Scan", 8, f"{lengths} {directions}", feed, [node], ["last", "all"])


def listed() -> Iterator[Case]:
    """Make cases of operators on sequences and optionals, each between what makes one and what opens it."""
    feed = {"a": draw(2, 3), "b": draw(2, 3, seed=1), "c": draw(2, 3, seed=2)}
    make = helper.make_node
    made = make("SequenceConstruct", ["a", "b", "c"], ["s"])
    for operator in ("SequenceAt", "SequenceErase", "SequenceInsert", "SequenceLength", "ConcatFromSequence"):
        for opset, _ in versions(operator):
            if operator == "SequenceLength":
                yield _case(operator, opset, "", feed, [made, make(operator, ["s"], ["y"])], ["y"])
            if operator == "ConcatFromSequence":
                for axis in (0, 1, -1):
                    for new in (None, 1):
                        told: dict[str, Any] = {"axis": axis, **({"new_axis": new} if new else {})}
                        yield _case(
                            operator, opset, f"{told}", feed, [made, make(operator, ["s"], ["y"], **told)], ["y"]
                        )
                continue
            for at in (0, 1, 2, -1, -3, None):
                place = [] if at is None else ["p"]
                given = {**feed, **({} if at is None else {"p": np.array(at, np.int64)})}
                if operator == "SequenceAt" and at is not None:
                    yield _case(operator, opset, f"{at}", given, [made, make(operator, ["s", "p"], ["y"])], ["y"])
                if operator in {"SequenceErase", "SequenceInsert"}:
                    words = ["s", *(["a"] if operator == "SequenceInsert" else []), *place]
                    nodes = [made, make(operator, words, ["t"]), make("ConcatFromSequence", ["t"], ["y"], axis=0)]
                    yield _case(operator, opset, f"{at}", given, nodes, ["y"])
    for opset, _ in versions("SequenceMap"):
        body = helper.make_graph([make("Add", ["e", "d"], ["f"])], "body", [_value("e"), _value("d")], [_value("f")])
        nodes = [
            made,
            make("SequenceMap", ["s", "a"], ["t"], body=body),
            make("ConcatFromSequence", ["t"], ["y"], axis=0),
        ]
        yield _case("SequenceMap", opset, "a tensor", feed, nodes, ["y"])
        nodes[1] = make("SequenceMap", ["s", "s"], ["t"], body=body)
        yield _case("SequenceMap", opset, "two sequences", feed, nodes, ["y"])
    for opset, _ in versions("Optional"):
        nodes = [
            make("Optional", ["a"], ["o"]),
            make("OptionalHasElement", ["o"], ["y"]),
            make("OptionalGetElement", ["o"], ["z"]),
        ]
        yield _case("Optional", opset, "full", {"a": feed["a"]}, nodes, ["y", "z"])
        kind = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
        nodes = [
            make("Optional", [], ["o"], type=kind),
            make("OptionalHasElement", ["o"], ["y"]),
            make("Identity", ["a"], ["z"]),
        ]
        yield _case("OptionalHasElement", opset, "empty", {"a": feed["a"]}, nodes, ["y", "z"])


def parts() -> Iterator[Case]:
    """Make cases of SplitToSequence."""
    make = helper.make_node
    for opset, _ in versions("SplitToSequence"):
        for keep in (None, 0, 1):
            for axis in (None, 1, -1):
                for parts in (None, np.array(2, np.int64), int64s([1, 3])):
                    length = 4
                    told = {**({} if axis is None else {"axis": axis}), **({} if keep is None else {"keepdims": keep})}
                    shape = (length, 3) if axis is None else (3, length)
                    given = {"x": draw(*shape), **({} if parts is None else {"n": parts})}
                    nodes = [
                        make("SplitToSequence", ["x", *([] if parts is None else ["n"])], ["s"], **told),
                        make("SequenceAt", ["s", "i"], ["y"]),
                        make("SequenceLength", ["s"], ["z"]),
                    ]
                    given["i"] = np.array(1, np.int64)
                    text = f"{told} {None if parts is None else parts.tolist()}"
                    yield _case("SplitToSequence", opset, text, given, nodes, ["y", "z"])
