"""What remains different for programs and commands written for Polygraphy, as rows that are run with both tools.

A row for programs says what differs, has a program that shows it, and what that prints with each tool; one that cannot
be run here is a refusal with its reason. Rows for commands are those of `data/stricter.json`.
`python polygraphy_differences.py` puts both tables into `docs/coming-from-polygraphy.md`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "coming-from-polygraphy.md"
STRICTER = json.loads((TESTS / "data/stricter.json").read_text(encoding="utf-8"))
COMMANDS = "<!-- stricter: made by tests/polygraphy_differences.py -->", "<!-- end of stricter -->"
PROGRAMS = "<!-- differences: made by tests/polygraphy_differences.py -->", "<!-- end of differences -->"

#: What the programs of all rows begin with.
HEAD = """\
import numpy as np
from polygraphy import config
from polygraphy.common import TensorMetadata
from polygraphy.comparator import Comparator, CompareFunc, DataLoader, IterationResult, RunResults, SnrCompareFunc
from polygraphy.comparator.struct import LazyArray
from polygraphy.json import Encoder, to_json


def result(*values):
    return IterationResult({"y": np.array(values, np.float32)})
"""


@dataclass(frozen=True)
class Row:
    """A difference.

    Attributes:
        theirs: What Polygraphy does.
        ours: What polycmp does.
        program: Shows it; empty where neither tool is run.
        prints_theirs: What the program prints with Polygraphy.
        prints_ours: What it prints with polycmp.
    """

    theirs: str
    ours: str
    program: str = ""
    prints_theirs: str = ""
    prints_ours: str = ""


ROWS = [
    Row(
        "a comparison that could not have failed passes, such as one whose `atol` is above all values",
        "`bool(accuracy)` is false, and a warning says why; `compare_accuracy(allow_blind=True)` accepts it",
        """
runs = RunResults([("a", [result(0, 1, 2)]), ("b", [result(1, 2, 3)])])
print(bool(Comparator.compare_accuracy(runs, compare_func=CompareFunc.simple(atol=100))))
""",
        "True",
        "False",
    ),
    Row(
        "`compare_accuracy` of 0.53 gives `AccuracyResults`, a list",
        "of one compare function its result alone, a mapping, as until 0.49",
        """
runs = RunResults([("a", [result(0, 1, 2)]), ("b", [result(0, 1, 2)])])
print(type(Comparator.compare_accuracy(runs)).__name__)
""",
        "AccuracyResults",
        "AccuracyResult",
    ),
    Row(
        "element types in `TensorMetadata` are `DataType`",
        "NumPy's, which equal `DataType` of that name; `DataType.to_dtype` takes both",
        """
print(type(TensorMetadata().add("x", np.float32, (1,))["x"].dtype).__module__.partition(".")[0])
""",
        "polygraphy",
        "numpy",
    ),
    Row(
        "an entry of `TensorMetadata` can be changed in place, its shape is a list",
        "`add()` puts another entry in its place, its shape is a tuple",
        """
entry = TensorMetadata().add("x", np.float32, (1,))["x"]
print(isinstance(entry.shape, list))
try:
    entry.shape = (2,)
    print("changed")
except AttributeError:
    print("not changed")
""",
        "True\nchanged",
        "False\nnot changed",
    ),
    Row(
        "means and other statistics are calculated in the element type: rounding may bring one within its tolerance",
        "in float64",
        """
function = CompareFunc.simple(check_error_stat="mean", atol=0.4125, rtol=0)
print(bool(function(result(0, 1, 2, 3), result(0.15, 1.25, 2.5, 3.75))["y"]))
""",
        "True",
        "False",
    ),
    Row(
        "the relative error against 0 is that against the smallest step of float64",
        "infinite",
        """
print(np.isinf(CompareFunc.simple()(result(1), result(0))["y"].max_reldiff))
""",
        "False",
        "True",
    ),
    Row(
        "the signal of `snr` is the first of two results",
        "the second, which is the reference",
        """
print(SnrCompareFunc()(result(0, 0), result(1, 1))["y"].snr)
""",
        "-inf",
        "0.0",
    ),
    Row(
        "a `DataLoader` takes the largest size of a dimension where no smallest is known",
        "1, which is within the limit, too",
        """
loader = DataLoader()
loader.input_metadata = TensorMetadata().add("x", np.float32, (-1, 2), max_shape=(4, 2))
print(loader[0]["x"].shape)
""",
        "(4, 2)",
        "(1, 2)",
    ),
    Row(
        "an output that is found to be constant becomes a weight, and no operator is left",
        "it is what a `Constant` operator makes",
        """
from onnx import parser
from polygraphy.backend.onnx import fold_constants

text = '<ir_version: 8, opset_import: ["" : 17]> g () => (float[2] y) { c = Constant <value = float[2] {1.0, 2.0}> () '
print("operators:", [node.op_type for node in fold_constants(parser.parse_model(text + "y = Neg (c) }")).graph.node])
""",
        "operators: []",
        "operators: ['Constant']",
    ),
    Row(
        "`to_json` indents",
        "it writes one line",
        """
class Own:
    pass


@Encoder.register(Own)
def encode(own):
    return {"x": 1}


print(to_json(Own()).count(chr(10)))
""",
        "3",
        "0",
    ),
    Row(
        "arrays above `POLYGRAPHY_ARRAY_SWAP_THRESHOLD_MB` go to disk",
        "they stay in memory; `--save-outputs` and `streaming=True` keep little of them there",
        """
config.ARRAY_SWAP_THRESHOLD_MB = 1
print(LazyArray(np.ones(2 * 2**20, np.byte)).arr is None)
""",
        "True",
        "False",
    ),
    Row(
        "`lazy_import` may install modules (`POLYGRAPHY_AUTOINSTALL_DEPS`)",
        "refused: nothing is installed at run time; a version that does not fit is warned of by both",
    ),
    Row("`to_json` of a torch tensor gives one back", "refused: NumPy's array, which needs no PyTorch to be read"),
]


def table_of_programs() -> str:
    """Return the table of what remains different for programs."""
    lines = [PROGRAMS[0], "", "| in Polygraphy | here |", "|---|---|"]
    return "\n".join([*lines, *(f"| {row.theirs} | {row.ours} |" for row in ROWS), "", PROGRAMS[1]])


def table_of_commands() -> str:
    """Return the table of commands that Polygraphy ends with status 0 and polycmp does not."""
    lines = [COMMANDS[0], "", "| because | `polygraphy run …` | Polygraphy | polycmp |", "|---|---|---|---|"]
    rows = (f"| {entry['why']} | `{entry['run']}` | {entry['polygraphy']} | {entry['polycmp']} |" for entry in STRICTER)
    return "\n".join([*lines, *rows, "", COMMANDS[1]])


def put(text: str, marks: tuple[str, str], table: str) -> str:
    """Return a page with a table between its marks."""
    return text.partition(marks[0])[0] + table + text.partition(marks[1])[2]


if __name__ == "__main__":
    page = put(PAGE.read_text(encoding="utf-8"), COMMANDS, table_of_commands())
    PAGE.write_text(put(page, PROGRAMS, table_of_programs()), encoding="utf-8")
