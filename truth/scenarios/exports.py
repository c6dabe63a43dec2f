"""Models of transformers as PyTorch exports them; not part of `make test`, since they need torch to be made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx

from truth.build import Net
from truth.exporting import FOLDER, names
from truth.scenario import NO_FAULT, NOTHING, Scenario, at

_NEEDS = "torch and transformers (truth/exporters.txt)"
#: Faults, each at the middle one of the operators of the first type that the model has.
_FAULTS = (
    ("fp16", ("MatMul", "Gemm", "Conv")),
    ("row-noise", ("LayerNormalization", "BatchNormalization", "RMSNormalization", "ReduceMean", "Relu")),
    ("shuffle", ("Softmax", "Attention", "MaxPool")),
)


def _net(path: Path) -> Net:
    with np.load(path.with_suffix(".npz")) as feed:
        return Net(onnx.load(path), dict(feed))


def _middle(model: onnx.ModelProto, types: tuple[str, ...]) -> onnx.NodeProto | None:
    for kind in types:
        found = [node for node in model.graph.node if node.op_type == kind]
        if found:
            return found[len(found) // 2]
    return None


def _scenarios(name: str, architecture: str, exporter: str) -> Iterator[Scenario]:
    path = FOLDER / f"{name}.onnx"
    here = path.exists() and path.with_suffix(".npz").exists()
    kind, title = f"exported {architecture}", f"{architecture} by {exporter}"
    for reference, words in (("onnx", "the reference"), ("onnxrt:optimization=off", "itself without optimisation")):
        yield Scenario(f"{title}: ONNX Runtime against {words}", kind, NO_FAULT, NOTHING, reference=reference,
                       net=lambda: _net(path), fast=False, here=here, needs=_NEEDS)  # fmt: skip
    for command in ("run", "locate"):
        yield Scenario(f"{title}: {command} without options", kind, NO_FAULT, NOTHING, file=path, command=command,
                       fast=False, here=here, needs=_NEEDS)  # fmt: skip
    yield Scenario(f"{title}: bfloat16 asked for", kind, NO_FAULT, NOTHING, candidate="onnx:dtype=bfloat16",
                   net=lambda: _net(path), fast=False, here=here, needs=_NEEDS)  # fmt: skip
    model = onnx.load(path) if here else onnx.ModelProto()
    for fault, types in _FAULTS:
        node = _middle(model, types)
        if node is not None:
            where = node.name or node.output[0]
            says = ("in the model's source: ",) if exporter == "dynamo" else ()
            yield Scenario(f"{title}: {fault} at a {node.op_type}", kind, fault, at(node.output[0], says=says),
                           candidate=f"faulty:backend=onnxrt,fault={fault},at={where}", net=lambda: _net(path),
                           fast=False)  # fmt: skip


SCENARIOS = tuple(scenario for name in names() for scenario in _scenarios(*name))
