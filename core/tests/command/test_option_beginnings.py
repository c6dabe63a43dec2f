"""Beginnings of options, written out where only one begins so."""

from __future__ import annotations

import click
import pytest

from polycmp.command.option_beginnings import complete_option, completed
from polycmp.errors import UsageError

OPTIONS = [
    (["--backend", "-b"], False),
    (["--iterations"], False),
    (["--input-shapes", "--inputs"], False),
    (["--load-inputs"], False),
    (["--load-outputs"], False),
    (["--onnxrt"], False),
    (["--onnxrt-threads"], False),
    (["--former-name"], True),
    (["--formerly"], False),
]


@pytest.fixture
def ctx():
    return click.Context(click.Command("it"))


@pytest.mark.parametrize(
    ("typed", "full"),
    [
        ("--iter", "--iterations"),
        ("--input-s", "--input-shapes"),
        ("--inputs", "--inputs"),
        ("--onnxr", "--onnxrt"),  # what adds words to another leaves that one
        ("--onnxrt-t", "--onnxrt-threads"),
        ("--former", "--formerly"),  # help tells nobody of the other
        ("--former-", "--former-name"),
        ("--i", ""),
        ("--nothing", ""),
        ("-b", ""),
    ],
)
def test_the_only_option_that_begins_so_is_meant(ctx, typed, full):
    assert complete_option(typed, OPTIONS, ctx) == full


@pytest.mark.parametrize(
    ("typed", "what", "why", "hint"),
    [
        ("--load", "--load is short for several options", "--load-inputs and --load-outputs begin so", "--load-inputs"),
        ("-iterations", "there is no option -iterations", "did you mean --iterations?", "--iterations"),
    ],
)
def test_what_several_begin_with_and_one_hyphen_for_two_are_refused(ctx, typed, what, why, hint):
    with pytest.raises(UsageError) as caught:
        complete_option(typed, OPTIONS, ctx)
    assert (caught.value.what, caught.value.why, caught.value.hint) == (what, why, hint)


def test_words_are_written_out_up_to_the_two_hyphens_and_that_is_said(capsys):
    command = click.Command("it", params=[click.Option(["--output", "-o"]), click.Option(["--fold/--no-fold"])])
    ctx = click.Context(command)
    words = ["--outp=a", "-o", "b", "--no-f", "--", "--outp", "c"]
    assert completed(words, ctx) == ["--output=a", "-o", "b", "--no-fold", "--", "--outp", "c"]
    assert capsys.readouterr().err.splitlines() == ["--outp is taken for --output", "--no-f is taken for --no-fold"]
