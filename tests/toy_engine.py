"""An engine for tests of `EngineRunner`: ONNX's evaluator, which prints and does not do as it should.

It refuses Sin and Abs, ends at Cos, writes too much for Tan and gives back what Identity is given.
"""

from __future__ import annotations

import os

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from polycmp_onnx.engine_child import ONNX, serve


class ToySession:
    """A model in the evaluator."""

    def open(self, message):
        """Load the model, with the factor that its outputs get."""
        model = onnx.load(ONNX)
        kinds = {node.op_type for node in model.graph.node}
        print("toy: reading\ntoy: error: no Sin today" if "Sin" in kinds else "toy: reading")
        if "Sin" in kinds:
            raise ValueError("it has no Sin")
        if "Abs" in kinds:
            raise KeyError("axes")
        if "Tan" in kinds:
            with open("converted", "wb") as converted:
                converted.seek(1 << 40)
                converted.write(b"the end")
        self.ends = "Cos" in kinds
        self.keeps = "Identity" in kinds
        self.factor = message["factor"]
        self.evaluator = ReferenceEvaluator(model)

    def run(self, inputs, outputs):
        """Return the outputs in float64, times the factor; those of Identity are the inputs as they are."""
        if self.ends:
            os._exit(7)
        if self.keeps:
            return inputs
        results = self.evaluator.run(None, dict(zip(self.evaluator.input_names, inputs, strict=True)))
        return [np.asarray(result, np.float64) * self.factor for result in results]


def main(arguments):
    """Answer the requests of this process's parent."""
    serve(ToySession(), arguments)
