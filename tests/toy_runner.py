"""The backend on the engine of `toy_engine`, as an author of one writes it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from engine_models import operator
from onnx import TensorProto

from polycmp.process import ChildProcess
from polycmp_onnx.engine_runner import EngineRunner


class ToyRunner(EngineRunner):
    engine = "Toy"
    child = "toy_engine"
    options = 1.0
    reasons = re.compile("error")

    def installed_version(self):
        return "1.0"

    def prepare(self, feed_dict):
        if feed_dict is None:
            self.convert(factor=self.options)

    def held(self, name, array):
        return array


def runner(op_type, kind=TensorProto.FLOAT, **changes):
    """Return the backend on a model of one operator."""

    def start():
        return ChildProcess("toy_engine", path=[str(Path(__file__).parent), *sys.path])

    return ToyRunner(operator(op_type, kind), start=start, **changes)
