"""The command that says whether a step passed: what counts as a failure, what is shown, and what cannot be a check."""

from __future__ import annotations

import io
import sys

import pytest

from polycmp.builtin.debug.check import AskingCheck, CommandCheck
from polycmp.errors import UsageError

SAYS = ("sh", "-c", "echo looked at 3; exit 7")


@pytest.mark.parametrize(
    ("section", "passed"),
    [
        ({}, False),
        ({"fail_code": (7,)}, False),
        ({"fail_code": (1, 2)}, True),
        ({"ignore_fail_code": (7,)}, True),
        ({"ignore_fail_code": (1,)}, False),
        ({"fail_regex": ("looked at [1-9]",)}, False),
        ({"fail_regex": ("nothing like that",)}, True),
        ({"fail_regex": ("nothing", "looked")}, False),
        ({"fail_regex": ("looked",), "fail_code": (1,)}, True),
        ({"fail_regex": ("looked",), "fail_code": (7,)}, False),
    ],
)
def test_what_counts_as_a_failure(check, section, passed):
    checked = check(*SAYS, **section).run()
    assert (checked.passed, checked.status, checked.output) == (passed, 7, "looked at 3\n")
    assert checked.seconds > 0


@pytest.mark.parametrize(
    ("words", "section", "quiet", "shown"),
    [
        (SAYS, {}, False, True),
        (SAYS, {}, True, False),
        (SAYS, {"hide_fail_output": True}, False, False),
        (("echo", "looked at 3"), {}, False, False),
        (("echo", "looked at 3"), {"show_output": True}, False, True),
    ],
)
def test_the_output_of_a_failure_is_shown_unless_it_is_hidden(check, capsys, words, section, quiet, shown):
    check(*words, **section).run(quiet=quiet)
    assert capsys.readouterr().err == ("looked at 3\n" if shown else "")


def test_a_signal_that_ended_it_is_its_status(check):
    checked = check("sh", "-c", "kill -TERM $$").run(quiet=True)
    assert (checked.passed, checked.status) == (False, -15)


@pytest.mark.parametrize(
    ("words", "section", "what"),
    [
        (("true",), {"fail_code": (1,), "ignore_fail_code": (2,)}, "--fail-code and --ignore-fail-code exclude"),
        (("true",), {"fail_regex": ("(",)}, "--fail-regex: '(' is not a regular expression"),
        (("no-such-command-at-all",), {}, "--check: cannot run 'no-such-command-at-all'"),
        (("polycmp", "run", "--no-such-option"), {}, "--check: the command is used wrongly"),
    ],
)
def test_what_cannot_be_a_check_is_refused(check, words, section, what):
    with pytest.raises(UsageError) as refused:
        check(*words, **section).run()
    assert refused.value.what.startswith(what)


def test_wrong_usage_may_be_what_is_looked_for(check):
    assert not check("polycmp", "run", "--no-such-option", fail_code=(2,)).run(quiet=True).passed


@pytest.mark.parametrize(("typed", "passed"), [("p\n", True), ("neither\nFAIL\n", False), (" Pass \n", True)])
def test_without_a_command_the_user_is_asked_until_there_is_an_answer(check, monkeypatch, capsys, typed, passed):
    asking = check()
    assert isinstance(asking, AskingCheck)
    assert not asking.is_command
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    checked = asking.run()
    assert (checked.passed, checked.status) == (passed, None)
    assert capsys.readouterr().err.count("Did this step pass?") == typed.count("\n")


def test_where_nobody_answers_the_option_is_named(check, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    with pytest.raises(UsageError, match="nobody answers") as refused:
        check().run()
    assert "--check COMMAND" in refused.value.hint


def test_a_command_is_a_check_of_its_own_class(check):
    assert isinstance(check("true"), CommandCheck)
    assert check("true").is_command
