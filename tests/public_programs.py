"""The table of programs in the calls of public ones: what each does, and where its calls were found.

`test_polygraphy_programs` runs each with both tools. `python public_programs.py` puts the table into
`docs/coming-from-polygraphy.md`.
"""

from __future__ import annotations

import ast
from pathlib import Path

from polygraphy_differences import put

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "coming-from-polygraphy.md"
MARKS = "<!-- programs: made by tests/public_programs.py -->", "<!-- end of programs -->"
PROGRAMS = sorted((TESTS / "polygraphy_programs").glob("*.py"))
_FOUND = "Found in: "


def described(program: Path) -> tuple[str, str]:
    """Return what a program does, and where its calls were found; that is empty where it was not noted."""
    text = ast.get_docstring(ast.parse(program.read_text(encoding="utf-8"))) or ""
    what, _, where = text.partition(_FOUND)
    return what.partition("\n\n")[0].strip(), " ".join(where.split())


def table() -> str:
    """Return the table of the page."""
    rows = [(program.stem, *described(program)) for program in PROGRAMS]
    noted = sum(bool(where) for *_, where in rows)
    lines = [
        MARKS[0],
        "",
        f"All {len(rows)} print the same with both tools. Of {len(rows) - noted} of them it was not noted where their"
        " calls were found.",
        "",
        "| program | | found in |",
        "|---|---|---|",
        *(f"| `{name}` | {what} | {where} |" for name, what, where in rows),
    ]
    return "\n".join([*lines, "", MARKS[1]])


if __name__ == "__main__":
    PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), MARKS, table()), encoding="utf-8")
