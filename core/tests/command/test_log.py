"""Options of messages: before the last word of a command as well as behind it, and for commands without plugins."""

from __future__ import annotations

import pytest

from polycmp.command.log import move_log_options

COMMANDS = {"model", "data", "reduce"}


@pytest.mark.parametrize(
    ("words", "moved"),
    [
        ("-v model m.toy", "model -v m.toy"),
        ("-vq model m.toy", "model -vq m.toy"),
        ("--log-file a.log model m.toy", "model --log-file=a.log m.toy"),
        ("--log-file=a.log model m.toy", "model --log-file=a.log m.toy"),
        ("--log-format no-colors timestamp model", "model --log-format=no-colors --log-format=timestamp"),
        ("--silent reduce m.toy --check true -v", "reduce --silent m.toy --check true -v"),
        ("model -v m.toy", "model -v m.toy"),
        ("-v --help", "-v --help"),  # no command follows
        ("-v", "-v"),
        ("--other model", "--other model"),
    ],
)
def test_they_are_moved_right_behind_the_command(words, moved):
    assert move_log_options(words.split(), COMMANDS) == moved.split()


def test_a_value_is_no_command_although_it_has_the_name_of_one():
    assert move_log_options(["--log-file", "model", "data"], COMMANDS) == ["data", "--log-file=model"]


def test_a_command_without_plugins_takes_them_all(polycmp, tmp_path):
    done = polycmp("plugins", "list", "-vv", "--log-file", "a.log", "--silent")
    assert (done.status, done.err) == (0, "")
    assert "toybox" in done.out
    assert "toybox" in (tmp_path / "a.log").read_text()
