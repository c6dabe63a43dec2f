"""A check whose message names an operator: that one alone is judged first."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from faulty_models import branches, layers, operators

PYTHON = sys.executable


#: Beginning of a check: the names of operators as they stand in the file, before their types. Importing onnx for that
#: would take ten times as long as the rest of a step.
NAMES = """\
import re, sys
names = [name.decode() for name in re.findall(rb'\\x1a.(\\w+)"', open(sys.argv[1], "rb").read(), re.DOTALL)]
"""


def script(path, text):
    Path(path).write_text(text)
    return path


def has_operator(name):
    """Return a check that fails with status 7 on models that have an operator."""
    return f"{NAMES}print('looked at', len(names))\nsys.exit(7 if {name!r} in names else 0)\n"


class TestNamedOperators:
    """A check whose message names an operator: that one alone is judged first."""

    TELLING = f"{NAMES}print(sys.argv[2])\nsys.exit(7 if 'n13' in names else 0)\n"

    @pytest.mark.parametrize(
        ("said", "fewer"),
        [
            ("Non-zero status code while running Conv node. Name:'n13' Status Message: bad", True),
            ("in [n13], of a type that nobody knows", True),
            ("n130, xn13 and n13/inner are others", False),
            ("n1 n2 n3 n13: too many to be a hint", False),
            pytest.param("nothing is named", False, marks=pytest.mark.corpus),
            ("n7: the wrong one", False),
            pytest.param("y, the output, differs", False, marks=pytest.mark.corpus),
        ],
    )
    def test_finds_the_same_operator(self, polycmp, tmp_path, said, fewer):
        layers(tmp_path / "chain.onnx", 24)
        script("check.py", self.TELLING)
        check = ("--check", PYTHON, "check.py", "polycmp_debug.onnx", said)
        words = ("--report", "found.json", "--min-good", "ok.onnx", "--hide-fail-output")
        done = polycmp("debug", "reduce", "chain.onnx", *words, *check)
        assert done.status == 0, done.out + done.err
        assert (operators("chain_reduced.onnx"), operators("ok.onnx")) == (["n13"], ["n12"])
        assert (done.report(Path("found.json"))["steps"] == 3) == fewer

    def test_a_type_that_one_operator_has(self, polycmp, tmp_path):
        branches(tmp_path / "model.onnx")
        script("check.py", has_operator("right2").replace("print(", "print('Tanh is not registered',"))
        words = ("--report", "found.json", "--check", PYTHON, "check.py", "polycmp_debug.onnx")
        done = polycmp("debug", "reduce", "model.onnx", *words)
        assert operators("model_reduced.onnx") == ["right2"], done.out + done.err
        assert done.report(Path("found.json"))["steps"] == 2

    @pytest.mark.parametrize("words", [("--mode", "linear"), ("--no-reduce-inputs",), ("--no-reduce-outputs",)])
    def test_a_search_that_was_asked_for_is_done(self, polycmp, tmp_path, words):
        layers(tmp_path / "chain.onnx", 16)
        script("check.py", self.TELLING)
        check = ("--check", PYTHON, "check.py", "polycmp_debug.onnx", "n13")
        done = polycmp("debug", "reduce", "chain.onnx", *words, "--report", "found.json", *check)
        assert "n13" in operators("chain_reduced.onnx"), done.out + done.err
        assert done.report(Path("found.json"))["steps"] > 3
