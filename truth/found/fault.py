"""What a fault is told with, and the five lines that show it without polycmp."""

from __future__ import annotations

from dataclasses import dataclass

#: The versions of the format that models are written in: what onnx.parser reads and every runtime takes.
_HEAD = '<ir_version: 8, opset_import: ["" : {}]>'
#: What runs `model` on `feeds`, by product.
RUNS = {
    "onnx": ("from onnx.reference import ReferenceEvaluator", "ReferenceEvaluator(model).run(None, feeds)[0]"),
    "onnxruntime": (
        "import onnxruntime",
        "onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)[0]",
    ),
    "openvino": (
        "import openvino",
        "openvino.compile_model(openvino.Core().read_model(model.SerializeToString()), 'CPU')(feeds)[0]",
    ),
}


@dataclass(frozen=True)
class Fault:
    """A fault of a product.

    Attributes:
        name: What it is called here.
        product: The package that has it, one of `RUNS`.
        what: What the product does, in words.
        opset: Version of the operators.
        graph: The graph, as `onnx.parser` reads it.
        feeds: The inputs, as Python says them.
        expected: The right value of the first output, as Python says it; worked out by hand or with NumPy.
        source: The text of the standard, or the formula, that the right value follows from.
    """

    name: str
    product: str
    what: str
    opset: int
    graph: str
    feeds: str
    expected: str
    source: str

    def code(self, product: str = "") -> str:
        """Return the lines that show what a product computes, by default the one that has the fault."""
        imports, run = RUNS[product or self.product]
        return (
            f"import numpy as np, onnx.parser\n{imports}\n"
            f"model = onnx.parser.parse_model('''{_HEAD.format(self.opset)} {self.graph}''')\n"
            f"feeds = {self.feeds}\nprint({run})"
        )
