"""Options of commands whose steps are checked: the check is all that follows its option."""

from __future__ import annotations

import pytest

from polycmp.builtin.debug.sections import split_check


@pytest.mark.parametrize(
    ("words", "own", "command"),
    [
        (("m.toy", "--check", "polycmp", "run", "-b", "x"), ["m.toy"], ["polycmp", "run", "-b", "x"]),
        (("m.toy", "--check=true", "--loud"), ["m.toy"], ["true", "--loud"]),
        (("m.toy", "-v"), ["m.toy", "-v"], []),
    ],
)
def test_the_command_is_all_that_follows_the_option(words, own, command):
    assert split_check(words) == (own, command)
