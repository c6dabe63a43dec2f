"""A terminal and a pipe show the same lines."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest

from polycmp.report import (
    Column,
    Note,
    Problem,
    Repeat,
    Result,
    Row,
    Table,
)
from polycmp.report.console import print_result
from polycmp.report.screen import PlainConsole, make_console


@pytest.mark.parametrize("width", [30, 60, 120])
@pytest.mark.parametrize("verbose", [False, True])
def test_a_pipe_gets_the_lines_of_a_terminal_without_their_styles(width, verbose):
    rows = (
        Row("encoder.layers.0.attention/self/query/MatMul_output_0", "failed", (0.5, 1.0, 2.0), "differs by 0.5 " * 9),
        Row("\u4e2d\u6587 name with blanks", "passed", (1e-9,), "within tolerance"),
        Row("::error::x\x1b[2J", "error", (), "a reason\nof two lines", tags=("reference",)),
    )
    columns = (Column("Max abs", "number"), Column("Mean abs", "number", wide=True), Column("Time", "duration"))
    content = (
        Problem("a failed", "it fell over " * 12, "try b"),
        Table("x against y", rows, columns, type_title="Type", reason_title="Result"),
        Note("wide \u4e2d\u6587 " * 12, "c"),
        Repeat(3, "seed 7", "polycmp run " + "x" * 150, "output 'y'"),
    )
    result = Result("run", "failed", "FAILED", "1 of 3 outputs differs " * 4, content=content)
    plain, console = io.StringIO(), io.StringIO()
    print_result(result, verbose=verbose, console=PlainConsole(width, plain))
    print_result(result, verbose=verbose, console=make_console(width, console))
    assert plain.getvalue() == console.getvalue()
    assert plain.getvalue().count("\n") > 12


def test_a_pipe_needs_no_console():
    code = (
        "import sys; from polycmp.report import Result; from polycmp.report.console import print_result; "
        "print_result(Result('run', 'passed', 'PASSED', 'well')); print('rich.console' in sys.modules)"
    )
    environ = {name: value for name, value in os.environ.items() if name != "FORCE_COLOR"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ)
    assert done.stdout.splitlines() == ["PASSED: well", "False"]
