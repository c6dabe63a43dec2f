"""What a fault is told with, and the five lines that show it without polycmp."""

from __future__ import annotations

from dataclasses import dataclass

#: The version of the format that brought 8-bit floats comes with this version of the operators.
_FLOAT8 = 19
#: What runs `model` on `feeds`, by product.
RUNS = {
    "onnx": ("from onnx.reference import ReferenceEvaluator", "ReferenceEvaluator(model).run(None, feeds)[0]"),
    "onnxruntime": (
        "import onnxruntime",
        "onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)[0]",
    ),
    "openvino": (
        "from openvino import Core, compile_model",
        "compile_model(Core().read_model(model.SerializeToString()), 'CPU', "
        "{'INFERENCE_PRECISION_HINT': 'f32'})(feeds)[0]",
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

    @property
    def products(self) -> tuple[str, ...]:
        """The products that can run it."""
        return tuple(RUNS)

    def code(self, product: str = "") -> str:
        """Return the lines that show what a product computes, by default the one that has the fault."""
        imports, run = RUNS[product or self.product]
        head = f'<ir_version: {9 if self.opset >= _FLOAT8 else 8}, opset_import: ["" : {self.opset}]>'
        return (
            f"import numpy as np, onnx.parser\n{imports}\n"
            f"model = onnx.parser.parse_model('''{head} {self.graph}''')\n"
            f"feeds = {self.feeds}\nprint({run})"
        )
