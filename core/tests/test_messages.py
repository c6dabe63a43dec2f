"""Holding back log messages that say nothing new."""

from __future__ import annotations

import io
import logging

import pytest

from polycmp.messages import only_errors, setup_logging


@pytest.mark.parametrize(
    ("verbose", "unless", "shown"), [(0, False, ["bad"]), (0, True, ["usual", "bad"]), (1, False, ["usual", "bad"])]
)
def test_only_errors_are_shown_but_to_those_who_want_more(verbose, unless, shown):
    stream, log = io.StringIO(), logging.getLogger("polycmp.test")
    setup_logging(verbose=verbose, stream=stream)
    with only_errors(unless=unless):
        log.info("usual")
        log.error("bad")
    log.info("after")
    assert [line.partition("] ")[2] for line in stream.getvalue().splitlines()] == [*shown, "after"]
