"""Parts of suite files that tests write."""

from __future__ import annotations

HEAD = '[defaults]\nbackend = ["onnxrt", "onnx"]\n'
DIFFER = 'backend = ["onnxrt", "onnxrt:model=two.onnx"]\n'
CASE = '[[case]]\nname = "one"\nmodel = "one.onnx"\n'
GOOD = '[[case]]\nname = "good"\nmodel = "one.onnx"\n'
CHANGING = '[[case]]\nname = "changing"\nmodel = "one.onnx"\nbackend = ["onnxrt", "onnxrt:model=two.onnx"]\natol = %s\n'
#: Cases of a suite that is divided.
NAMES = ["a", "b", "c", "d", "e"]


def case(name: str, more: str = "", model: str = "one.onnx") -> str:
    """Return a case."""
    return f'[[case]]\nname = "{name}"\nmodel = "{model}"\n{more}\n'
