"""Faults of devices are named in their dumps: two kinds of networks, float16 and 8 bits, channels last."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import dumping_devices as devices
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper


class Fault(NamedTuple):
    """A fault of a device.

    Attributes:
        network: Makes the model.
        operator: The operator that is to be named.
        change: Changes the model that the device runs, given the operator.
        rounding: How the device rounds.
    """

    network: Callable[[str], str]
    operator: str
    change: Callable[[onnx.ModelProto, onnx.NodeProto], None]
    rounding: str = "float16"


def weight(place: int, edit: Callable[[np.ndarray], np.ndarray]) -> Callable[[onnx.ModelProto, onnx.NodeProto], None]:
    """Return a change of a weight that an operator reads at a place."""

    def change(model: onnx.ModelProto, node: onnx.NodeProto) -> None:
        (tensor,) = (item for item in model.graph.initializer if item.name == node.input[place])
        edited = edit(numpy_helper.to_array(tensor).copy())
        model.graph.initializer.append(numpy_helper.from_array(edited.astype(np.float32), f"{tensor.name}.wrong"))
        node.input[place] = f"{tensor.name}.wrong"

    return change


def attribute(name: str, value: object) -> Callable[[onnx.ModelProto, onnx.NodeProto], None]:
    """Return a change of an attribute."""

    def change(model: onnx.ModelProto, node: onnx.NodeProto) -> None:
        kept = [item for item in node.attribute if item.name != name]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute(name, value)])

    return change


def other(kind: str) -> Callable[[onnx.ModelProto, onnx.NodeProto], None]:
    """Return a change to another type of operator."""

    def change(model: onnx.ModelProto, node: onnx.NodeProto) -> None:
        node.op_type = kind

    return change


def without_first_row(array: np.ndarray) -> np.ndarray:
    array[0] = 0
    return array


FAULTS = {
    "a factor of all weights": Fault(devices.resnet, "/layer2/conv2/Conv", weight(1, lambda w: w * 1.1)),
    "no bias": Fault(devices.resnet, "/layer1/conv1/Conv", weight(2, np.zeros_like)),
    "two filters exchanged": Fault(devices.resnet, "/layer3/conv1/Conv", weight(1, lambda w: w[[1, 0, *range(2, 16)]])),
    "an activation left out": Fault(devices.resnet, "/layer1/conv1/Relu", other("Identity")),
    "padding at one end": Fault(devices.resnet, "/layer2/conv1/Conv", attribute("pads", [0, 0, 2, 2])),
    "another pooling": Fault(devices.resnet, "/pool/GlobalAveragePool", other("GlobalMaxPool")),
    "a filter of zeros, 8 bits": Fault(devices.resnet, "/layer2/down/Conv", weight(1, without_first_row), "int8"),
    "weights turned round, 8 bits": Fault(devices.resnet, "/layer3/conv2/Conv", weight(1, np.flip), "int8"),
    "another axis": Fault(devices.transformer, "/layer.1/scores/Softmax", attribute("axis", -2)),
    "another epsilon": Fault(devices.transformer, "/layer.0/norm/LayerNormalization", attribute("epsilon", 0.1)),
    "a matrix turned round": Fault(devices.transformer, "/layer.0/key/MatMul", weight(1, np.transpose)),
    "no scale": Fault(devices.transformer, "/layer.1/scores/Mul", weight(1, np.ones_like)),
    "another function, 8 bits": Fault(devices.transformer, "/layer.0/up/Sigmoid", other("Tanh"), "int8"),
    "rows exchanged, 8 bits": Fault(devices.transformer, "/layer.1/down/MatMul", weight(1, lambda w: w[::-1]), "int8"),
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.corpus if number % 2 else ()) for number, name in enumerate(FAULTS)]
)
def test_a_fault_of_a_device_is_named(polycmp, name):
    fault = FAULTS[name]
    model = onnx.load(fault.network("model.onnx"))
    (node,) = (item for item in model.graph.node if item.name == fault.operator)
    fault.change(model, node)
    rounding = devices.half if fault.rounding == "float16" else devices.Codes()
    tensors = [devices.run_on_device(model, feed, rounding) for feed in devices.feeds_of(model)]
    if isinstance(rounding, devices.Codes):
        devices.write_codes("out", tensors, rounding)
    else:
        devices.write_raw("out", tensors)
        Path("dump.toml").write_text(f'{devices.NHWC}precision = "float16"\n')
    done = polycmp("locate", "model.onnx", "-b", "dump:map=dump.toml,name=device", "-b", "onnxrt")
    assert done.status == 1, done.out
    assert f"'{fault.operator}' computes" in done.out[done.out.index("FOUND") :].replace("\n ", ""), done.out
