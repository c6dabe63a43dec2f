"""Tables on terminals of any width."""

from __future__ import annotations

import io

import pytest

from polycmp.report.layout import Heading, Line, print_table
from polycmp.report.screen import PlainConsole, cell, words

NAME, TYPE, FIGURE = Heading("Output", breaks=True), Heading("Type", rank=2), Heading("Max abs", right=True, rank=1)


def printed(width, rows, headings=(NAME, TYPE, FIGURE), title="", reason_title=""):
    stream = io.StringIO()
    lines = [Line([cell(text) for text in texts], words(reason)) for *texts, reason in rows]
    print_table(PlainConsole(width, stream), title, headings, lines, reason_title)
    return stream.getvalue().splitlines()


def test_figures_stand_on_the_right_and_a_reason_behind_its_row_where_it_fits():
    lines = printed(80, [("y", "float32[2]", "0.5", "too far"), ("longer", "int8", "12", "")], reason_title="Reason")
    assert [lines[0], *lines[2:]] == [
        "Output   Type         Max abs   Reason",
        "y        float32[2]       0.5   too far",
        "longer   int8              12",
        "",
    ]
    assert set(lines[1]) == {"─"}


@pytest.mark.parametrize(
    ("width", "titles"),
    [(80, ["Output", "Type", "Max", "abs"]), (40, ["Output", "Max", "abs"]), (20, ["Output"])],
)
def test_columns_that_do_not_fit_are_left_out_by_their_rank(width, titles):
    lines = printed(width, [("a" * 30, "float32[1,2,3]", "0.123456", "")])
    assert lines[0].split() == titles
    assert max(map(len, lines)) <= width


def test_a_name_is_broken_behind_a_joint_and_none_of_it_is_lost():
    name = "model/decoder/layers.11/attention.output.weight"
    lines = printed(30, [(name, "f", "1", "")], headings=(NAME,))
    parts = [line for line in lines[2:] if line]
    assert len(parts) > 1
    assert "".join(parts) == name
    assert all(part[-1] in "/.:_- " for part in parts[:-1])


def test_a_reason_that_does_not_fit_is_printed_below_its_row():
    reason = "the worst element is far away from where it should be"
    lines = printed(40, [("y", "f", "1", reason)])
    below = [line for line in lines if line.startswith("    ")]
    assert " ".join(line.strip() for line in below) == reason
    assert max(map(len, lines)) <= 40


def test_a_table_has_its_title_above_it():
    assert printed(80, [("y", "f", "1", "")], title="new against old")[0] == "new against old"
