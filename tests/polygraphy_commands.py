"""What commands do otherwise than Polygraphy's, and the words of each: rows that are run with both tools.

A row of `DIFFERENCES` has a command in the folder of the parity list, TOOL standing for the program's name; how it ends
with each tool; and what the one and the other show of it. A row of `COMMANDS` has commands of Polygraphy and the words
of polycmp; lines of theirs are in `public_lines`, `tool_commands` and `polygraphy_examples`, or the row is a refusal
with its reason. `python polygraphy_commands.py` puts both tables into `docs/coming-from-polygraphy.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from polygraphy_differences import put

PAGE = Path(__file__).parents[1] / "docs" / "coming-from-polygraphy.md"
MARKS = "<!-- commands: made by tests/polygraphy_commands.py -->", "<!-- end of commands -->"
WORDS = "<!-- words: made by tests/polygraphy_commands.py -->", "<!-- end of words -->"


@dataclass(frozen=True)
class Difference:
    """A difference between commands.

    Attributes:
        what: Its subject.
        theirs: What Polygraphy does.
        ours: What polycmp does.
        run: The command that shows it.
        ends: The exit statuses of Polygraphy and of polycmp.
        shows: A text in what each prints on standard output; empty for none.
        file: Where these texts are, if not there.
        then: The command that prints them, if it is another one.
    """

    what: str
    theirs: str
    ours: str
    run: str
    ends: tuple[int, int]
    shows: tuple[str, str] = ("", "")
    file: str = ""
    then: str = ""


DIFFERENCES = [
    Difference(
        "who is compared with whom",
        "each run with its neighbour",
        "every run with the last one, which is the reference, or with `--reference LABEL`",
        "TOOL run model.onnx --load-outputs golden.json wrong.json golden.json",
        (1, 1),
        ("numpy vs. numpy | Passed: 0/2", "FAILED: 1 of 2 outputs differs"),
    ),
    Difference(
        "exit status",
        "0 or 1, and 2 for wrong usage",
        "0 equal, 1 different, 2 wrong usage, 3 could not compare, or comparing told nothing",
        "TOOL run model.onnx --onnxrt --load-outputs nowhere.json",
        (1, 3),
    ),
    Difference(
        "two backends of a kind",
        "options hold for all of them",
        "`-b onnxrt:optimization=off -b onnxrt`; `--onnxrt-optimization off` sets all of them",
        "TOOL run model.onnx -b onnxrt:optimization=off -b onnxrt",
        (1, 0),
        ("Unrecognized Options", "onnxrt:optimization=off against onnxrt"),
    ),
    Difference(
        "another model on one side",
        "two runs and a file between them",
        "`-b onnxrt:model=old.onnx`",
        "TOOL run model.onnx -b onnxrt -b onnxrt:model=other.onnx",
        (1, 1),
        ("Unrecognized Options", "FAILED: 1 of 1 output differs"),
    ),
    Difference(
        "names of runs",
        "kind, number and time of day",
        "what was typed, or `name=`",
        "TOOL run model.onnx --onnxrt --onnxrt",
        (0, 0),
        ("onnxrt-runner-N0-", "onnxrt against onnxrt#2"),
    ),
    Difference(
        "NaN on both sides",
        "always differs",
        "differs, says so, and `--nan equal` or `--nan forbid` decide otherwise",
        "TOOL run nan.onnx --onnxrt --onnxrt --val-range [-2,-1]",
        (1, 1),
        ("Passed: 0/1", "NaN"),
    ),
    Difference(
        "two shapes for one input",
        "the last one wins",
        "they take turns over the iterations",
        "TOOL run model.onnx --onnxrt --input-shapes x:[2,8] x:[3,8] --iterations 2 --save-inputs shapes.json",
        (0, 0),
        ("shape=(3, 8)", "float32[2,8]"),
        then="TOOL inspect data shapes.json",
    ),
    Difference(
        "several `--check-error-stat` without a name",
        "the last one wins",
        "all of them are checked",
        "TOOL run --load-outputs worst.json golden.json --check-error-stat max median",
        (0, 1),
        ("PASSED", "the max"),
    ),
    Difference(
        "`--warm-up`, `--use-subprocess`",
        "need `--sequential-runners`",
        "work always; a worker is a fresh process, so that a crash is only that backend's failure; in Python, "
        "`Comparator.run(use_subprocess=True)` runs each runner in a copy of this process, which needs no pickle, and "
        "which Windows cannot make",
        "TOOL run model.onnx --onnxrt --warm-up 2",
        (1, 0),
        ("FAILED", "PASSED"),
    ),
    Difference(
        "a backend that fails",
        "ends the run",
        "is reported with the reason; the others are still compared, status 3",
        "TOOL run strange.onnx --onnxrt --load-outputs golden.json more.json",
        (1, 3),
        ("", "numpy against numpy#2"),
    ),
    Difference(
        "`--gen-script`",
        "writes the program that it also runs",
        "writes a program that uses the Python names; nothing typed on a command line ever becomes code",
        "TOOL run model.onnx --onnxrt --gen-script script.py",
        (0, 0),
        ("from polygraphy.", "from polycmp."),
        "script.py",
    ),
    Difference(
        "options of a backend that takes no part",
        "are ignored",
        "are ignored, and mentioned on standard error",
        "TOOL run model.onnx --onnxrt --fp16",
        (0, 0),
    ),
    Difference(
        "saved files",
        "JSON",
        "JSON, `.npz`, `.safetensors`, or a folder; JSON also under a suffix that no format has (`golden.out`, and "
        "with a warning `golden.pkl`), and read under any name; a file appears when it is complete",
        "TOOL run model.onnx --onnxrt --save-outputs saved.npz",
        (0, 0),
        ('{\n    "lst"', "PK"),
        "saved.npz",
    ),
    Difference(
        "`--log-file`",
        "messages",
        "messages and all that is printed",
        "TOOL run model.onnx --onnxrt --log-file log.txt",
        (0, 0),
        ("[I] ", "PASSED: the model ran"),
        "log.txt",
    ),
    Difference(
        "messages",
        "on standard output",
        "on standard error; standard output is for the result",
        "TOOL run model.onnx --onnxrt --verbose",
        (0, 0),
        ("[V] ", "PASSED: the model ran"),
    ),
]


@dataclass(frozen=True)
class Command:
    """Commands of Polygraphy, and what stands for them.

    Attributes:
        theirs: Their words.
        cell: The words of polycmp, and what to know of them.
        theirs_only: Whether they are refused.
    """

    theirs: tuple[str, ...]
    cell: str
    theirs_only: bool = False


COMMANDS = [
    Command(("run",), "`run`"),
    Command(("convert",), "`convert`; also to bfloat16, and with operators kept in float32: see [tools.md](tools.md)"),
    Command(
        ("inspect model", "inspect data", "inspect sparsity"),
        "the same words; `--save-visual FILE.html` needs no network, and there is no `--visual` server",
    ),
    Command(("inspect tactics", "inspect diff-tactics", "inspect capability"), "the same words, with polycmp-trt"),
    Command(
        (
            "surgeon extract",
            "surgeon insert",
            "surgeon sanitize",
            "surgeon prune",
            "surgeon weight-strip",
            "surgeon weight-reconstruct",
        ),
        "the same words; what comes out has passed ONNX's checker, and a part that lacks an input is refused instead "
        "of written",
    ),
    Command(("check lint",), "`check lint`; all findings of a model, custom operators are information"),
    Command(("check accuracy",), "`check accuracy`"),
    Command(("data concat", "data merge"), "the same words; `merge` is right for several iterations"),
    Command(
        ("plugin list", "plugin match", "plugin replace"),
        "the same words, with `pip install 'polycmp-onnx[plugins]'`; `polycmp plugins` is about packages of polycmp",
    ),
    Command(("plugin autotune",), "refused: no plugin is built and measured", theirs_only=True),
    Command(
        ("multi-device shard", "template shard-hints"), "refused: no model is spread over devices", theirs_only=True
    ),
    Command(
        ("debug reduce", "debug precision", "debug build", "debug repeat"),
        "the same words: see [debugging.md](debugging.md); `locate` names the first tensor that goes wrong, without a "
        "script that judges",
    ),
    Command(("template trt-network", "template trt-config", "template onnx-gs"), "the same words"),
]


def table() -> str:
    """Return the table of differences."""
    lines = [MARKS[0], "", "| | Polygraphy | polycmp |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {row.what} | {row.theirs} | {row.ours} |" for row in DIFFERENCES), "", MARKS[1]])


def table_of_words() -> str:
    """Return the table of commands."""
    lines = [WORDS[0], "", "| Polygraphy | polycmp |", "|---|---|"]
    rows = [f"| {', '.join(f'`{word}`' for word in row.theirs)} | {row.cell} |" for row in COMMANDS]
    return "\n".join([*lines, *rows, "", WORDS[1]])


if __name__ == "__main__":
    page = put(PAGE.read_text(encoding="utf-8"), MARKS, table())
    PAGE.write_text(put(page, WORDS, table_of_words()), encoding="utf-8")
