"""The names that `polycmp_trt` exports: made when first used, and seen by type checkers as what they are."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

from type_checking import mypy

import polycmp_trt


def names_for_type_checkers() -> dict[str, str]:
    """Name -> module, from the block that only type checkers read."""
    tree = ast.parse(Path(polycmp_trt.__file__).read_text("utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    return {
        alias.asname: f"{node.module}.{alias.name}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }


def test_type_checkers_see_the_names_that_are_exported():
    shown = names_for_type_checkers()
    assert sorted(shown) == polycmp_trt.__all__
    for name, where in shown.items():
        module, _, attribute = where.rpartition(".")
        assert getattr(polycmp_trt, name) is getattr(sys.modules[module], attribute)


PROGRAM = """
from polycmp_trt import CreateConfig, DeviceView, Profile, TacticReplayData, TrtRunner, create_network
from polycmp_trt import EngineFromNetwrok, NetworkFromOnnxPath

reveal_type(Profile().add("x", (1,), (2,), (3,)))
reveal_type(TacticReplayData.load("replay.json"))
reveal_type(TrtRunner("engine").last_inference_time())
reveal_type(DeviceView(4096, (2,), "float32").nbytes)
CreateConfig(fp17=True)
create_network(strongly_typed=1.5)
NetworkFromOnnxPath("model.onnx", strongly_typed="yes")
"""


def test_mypy_sees_real_types_and_finds_slips(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    told = mypy(tmp_path / "program.py")
    types = re.findall('Revealed type is "(.*)"', told)
    assert [name.rpartition(".")[2] for name in types] == ["Profile", "TacticReplayData", "float", "int"], told
    assert re.findall(r": error: .*\[([a-z-]+)\]", told) == [
        "attr-defined",
        "call-arg",
        "arg-type",
        "arg-type",
    ], told
