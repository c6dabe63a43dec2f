"""The table of what stands beside Polygraphy: rows that tests run with both tools, or refusals with their reasons.

Rows are read from `data/polygraphy/*.toml`, from what was recorded of Polygraphy 0.53.6 (`data/*.json`), and from the
docstrings of `polygraphy_programs/`. `python polygraphy_table.py`, or `make tables`, writes every table and list of the
two pages that are made of them; `test_polygraphy_table` holds the pages to it. To add a row, write it into a data file.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cli_table

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TESTS = Path(__file__).parent
DATA = TESTS / "data"
DOCS = TESTS.parent / "docs"
PAGES = DOCS / "coming-from-polygraphy.md", DOCS / "polygraphy-table.md"
MARKED = re.compile(r"<!-- table: ([a-z ]+) -->\n.*?<!-- end of table -->", re.DOTALL)

#: What the programs that show a difference begin with.
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
    """A row of the table.

    Attributes:
        kind: What it is a row of: the name of its data file.
        what: A line, program, name, option or test of Polygraphy, or the subject of a difference.
        group: The lines that it follows in one folder.
        run: A command, where TOOL stands for the program's name.
        runs: Several, each behind both exit statuses; one that begins with `python` runs a program of
            `polygraphy_folder`.
        program: The text of a program.
        theirs: The exit status of Polygraphy, or what it prints.
        ours: That of polycmp.
        shows_theirs: A text in what Polygraphy prints, or writes into `file`.
        shows_ours: One in what polycmp prints.
        file: Where these texts are, if they are not printed.
        then: The command that prints them, if it is another one.
        gpu: The tests of polycmp-trt that run it, where it needs TensorRT.
        words: Commands of Polygraphy.
        cell_theirs: What the page says of Polygraphy.
        cell_ours: What the page says of polycmp.
        reason: Why it is refused, or why it does not end as with Polygraphy.
        source: Repository and path, or issue; where neither was found, the kind of page.
    """

    kind: str
    what: str = ""
    group: str = ""
    run: str = ""
    runs: Sequence[str] = ()
    program: str = ""
    theirs: int | str = ""
    ours: int | str = ""
    shows_theirs: str = ""
    shows_ours: str = ""
    file: str = ""
    then: str = ""
    gpu: str = ""
    words: Sequence[str] = ()
    cell_theirs: str = ""
    cell_ours: str = ""
    reason: str = ""
    source: str = ""

    @property
    def executed(self) -> bool:
        """Whether tests run it; where they do not, it is a refusal."""
        return bool(self.run or self.runs or self.program or self.gpu)

    @property
    def right(self) -> bool:
        """Whether polycmp ends a line as Polygraphy does, or does what it meant where Polygraphy does not."""
        return (self.theirs == 0) == (self.ours == 0) or (self.ours == 0 and bool(self.reason))

    @property
    def exact(self) -> bool:
        """Whether its source is a repository or an issue."""
        return bool(re.match(r"[\w.-]+/[\w.-]+", self.source))


def _rows(kind: str) -> list[Row]:
    """Read the rows of a data file."""
    found = tomllib.loads((DATA / "polygraphy" / f"{kind}.toml").read_text(encoding="utf-8"))
    return [Row(kind, **entry) for entry in found["row"]]


def _json(name: str) -> Any:
    return json.loads((DATA / name).read_text(encoding="utf-8"))


def _program(path: Path) -> Row:
    """Read of a program what it does, and where its calls were found."""
    text = path.read_text(encoding="utf-8")
    what, _, where = (ast.get_docstring(ast.parse(text)) or "").partition("Found in: ")
    source = " ".join(where.split())
    return Row("public programs", path.stem, program=text, cell_ours=what.partition("\n\n")[0].strip(), source=source)


LINES = _rows("lines")
COMMANDS = _rows("commands")
WORDS = _rows("words")
DIFFERENCES = _rows("programs")
EXAMPLES = _rows("examples")
SUITE = _rows("suite")
PROGRAMS = [_program(path) for path in sorted((TESTS / "polygraphy_programs").glob("*.py"))]
STRICTER = [
    Row("stricter", run=f"TOOL run {entry['run']}", theirs=entry["polygraphy"], ours=entry["polycmp"],
        reason=entry["why"])
    for entry in _json("stricter.json")
]  # fmt: skip
NAMES = [Row("names", name, cell_theirs=entry["kind"], cell_ours=entry["text"], reason=entry["text"])
         for name, entry in _json("api_differences.json").items()]  # fmt: skip
#: All rows but those of options and names that are the same: `test_cli_parity` and `test_api_parity` hold each of them.
TABLE = [*LINES, *COMMANDS, *WORDS, *DIFFERENCES, *EXAMPLES, *SUITE, *PROGRAMS, *STRICTER, *NAMES]
_RECORDED = tomllib.loads((DATA / "polygraphy" / "samples.toml").read_text(encoding="utf-8"))
#: Runs on a GPU, by the tests of polycmp-trt.
GPU: Mapping[str, str] = _RECORDED["gpu"]


def groups() -> dict[str, list[Row]]:
    """Return the public lines by their group."""
    found: dict[str, list[Row]] = {}
    for row in LINES:
        found.setdefault(row.group, []).append(row)
    return found


def _table(heads: str, rows: Sequence[Sequence[object]]) -> str:
    columns = heads.count("|") + 1
    cells = (" | ".join(str(cell).strip() for cell in row) for row in rows)
    head = f"| {heads} |\n|{'---|' * columns}\n"
    return head + "".join(f"| {line} |\n" for line in cells)


def _code(command: str) -> str:
    """Return a command as the page shows it."""
    text = command.replace("TOOL ", "", 1).replace("|", r"\|")
    return "`" + text.replace("TOOL", "polygraphy") + "`"


def _stricter() -> str:
    rows = [(row.reason, _code(row.run.replace("TOOL run", "TOOL")), row.theirs, row.ours) for row in STRICTER]
    return _table("because | `polygraphy run …` | Polygraphy | polycmp", rows)


def _commands() -> str:
    return _table(" | Polygraphy | polycmp", [(row.what, row.cell_theirs, row.cell_ours) for row in COMMANDS])


def _words() -> str:
    rows = [(", ".join(f"`{word}`" for word in row.words), row.cell_ours or f"refused: {row.reason}") for row in WORDS]
    return _table("Polygraphy | polycmp", rows)


def _programs() -> str:
    rows = [(row.what, row.cell_ours or f"refused: {row.reason}") for row in DIFFERENCES]
    return _table("in Polygraphy | here", rows)


def _examples() -> str:
    def cells(row: Row) -> tuple[str, str, str]:
        if row.gpu:
            return f"`{row.what}`", "same", f"needs a GPU: {GPU[row.gpu]}"
        return f"`{row.what}`", "refused" if row.reason else "same", row.reason or row.cell_ours

    return _table("example | | ", [cells(row) for row in EXAMPLES])


def _suite() -> str:
    return _table("tests | reason", [(row.what, row.reason) for row in SUITE])


def _lines() -> str:
    rows = [(_code(row.run), row.theirs, row.ours, row.reason, row.source) for row in LINES]
    return _table("line | Polygraphy | polycmp | | found in", rows)


def _public_programs() -> str:
    return _table("program | | found in", [(f"`{row.what}`", row.cell_ours, row.source) for row in PROGRAMS])


def _names() -> str:
    return _table("in Polygraphy | | in polycmp", [(f"`{row.what}`", row.cell_theirs, row.cell_ours) for row in NAMES])


def _samples() -> str:
    """Return the shares at first contact."""
    rows = [(entry["when"], entry["lines"], entry["programs"], entry["note"]) for entry in _RECORDED["sample"]]
    return _table("sample | lines right | programs right | what was wrong", rows)


def _tests() -> str:
    """Return what passes of Polygraphy's own tests."""
    rows = [
        (
            f"about {entry['about']}",
            f"{entry['right']} of {entry['of']} ({entry['right'] / entry['of']:.1%})",
            entry["when"],
        )
        for entry in _RECORDED["tests"]
    ]
    return _table("tests | pass | counted", rows)


def _shares() -> str:
    """Return the shares after mending."""
    trt = [row for row in LINES if row.group == "TensorRT"]
    plain = [row for row in LINES if row.group != "TensorRT"]
    right, right_trt = (sum(row.right for row in rows) for rows in (plain, trt))
    exact_lines, exact_programs = (sum(row.exact for row in rows) for rows in (LINES, PROGRAMS))
    return (
        f"- {right} of {len(plain)} public lines that need no GPU end as with Polygraphy, or do what they meant where "
        f"it does not ({right / len(plain):.1%}).\n"
        f"- {right_trt} of {len(trt)} public lines with TensorRT are read as Polygraphy reads them, or as it did "
        f"({right_trt / len(trt):.1%}).\n"
        f"- All {len(PROGRAMS)} programs in the calls of public ones print the same with both tools.\n"
        f"- {exact_lines} of {len(LINES)} lines and {exact_programs} of {len(PROGRAMS)} programs name the repository "
        "or issue that they come from; others a kind of page, for the index in which they were found names none, "
        "or nothing.\n"
    )


#: The tables and lists of the pages, by the name in their marks.
MADE: Mapping[str, Callable[[], str]] = {
    "stricter": _stricter,
    "commands": _commands,
    "words": _words,
    "programs": _programs,
    "examples": _examples,
    "suite": _suite,
    "lines": _lines,
    "public programs": _public_programs,
    "names": _names,
    "options": cli_table.table,
    "samples": _samples,
    "tests": _tests,
    "shares": _shares,
}


def filled(text: str) -> str:
    """Return a page with what is made between its marks."""
    return MARKED.sub(lambda found: f"<!-- table: {found[1]} -->\n\n{MADE[found[1]]()}\n<!-- end of table -->", text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
