"""Texts made harmless for a terminal and a CI system, one by one; tests/test_safety.py tries whole commands."""

from __future__ import annotations

import io

import pytest

from polycmp.errors import FileError, UsageError
from polycmp.terminal import Guarded, echo, error_text, guarded, shorten, visible, visible_lines


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 漢字 🙂", "plain é 漢字 🙂"),
        ("wide\u3000blank", "wide\u3000blank"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\u202eright to left", "\\u202eright to left"),
        ("half\udc80", "half\\udc80"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_every_character_shows(text, shown):
    assert visible(text) == shown


def test_line_breaks_stay_where_lines_are_ours_and_none_begins_where_ours_do():
    assert visible_lines("one\r\n\ttwo\x07\n\n", "> ") == "one\n>     two\\x07"


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("::error::no", "\\x3a:error::no"),
        ("  ::set-env", "  \\x3a:set-env"),
        ("\x1b[31m::stop", "\x1b[31m\\x3a:stop"),
        ("a::b", "a::b"),
        ("one\n::two", "one\n\\x3a:two"),
        ("x ##[error]y", "x \\x23#[error]y"),
        ("##vso[task]", "\\x23#vso[task]"),
        ("# heading", "# heading"),
    ],
)
def test_no_line_is_a_command(text, harmless):
    assert guarded(text) == harmless


def test_a_long_text_keeps_its_beginning_and_its_end():
    text = "begin" + "x" * 1000 + "end"
    short = shorten(text, 40)
    assert short.startswith("begin")
    assert short.endswith("end")
    assert "(968 characters left out)" in short
    assert shorten("x" * 45, 40) == "x" * 45  # leaving out would make it longer


def test_each_part_of_an_error_is_a_line_of_its_own():
    lines = error_text(UsageError("what\x1b", why="one\ntwo", hint="polycmp --help")).splitlines()
    assert "what\\x1b" in lines[0]
    assert any(line.startswith("        ") and line.endswith("two") for line in lines)
    assert lines[-1].endswith("polycmp --help")


class Narrow(io.TextIOWrapper):
    """A terminal of few characters."""

    def __init__(self):
        super().__init__(io.BytesIO(), encoding="ascii")


def test_a_terminal_that_knows_fewer_characters_gets_words_all_the_same():
    stream = Narrow()
    Guarded(stream).write("é ::no\n::yes\n")
    stream.flush()
    assert stream.buffer.getvalue() == b"\\xe9 ::no\n\\x3a:yes\n"


def test_a_stream_that_is_closed_discards_and_one_that_fails_is_a_file_error(capsys):
    assert Guarded(None).write("text") == 0
    stream = io.StringIO()
    stream.close()
    with pytest.raises(FileError, match="cannot write to standard output"):
        Guarded(stream).write("text")
    echo("to the\x07 user")
    echo("::aside", err=True)
    assert capsys.readouterr() == ("to the\\x07 user\n", "\\x3a:aside\n")
