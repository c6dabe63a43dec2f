"""Backends in other processes and environments: where what runs them there is missing, the option is named."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("words", "option", "package"),
    [
        (("-b", "toy:version=1.0"), "version=1.0", "polycmp-bisect"),
        (("-b", "toy:ssh=me@board"), "python=ssh://me@board", "polycmp-ssh"),
    ],
)
def test_a_service_that_is_not_installed_names_the_option_and_the_package(polycmp, model, words, option, package):
    done = polycmp("run", "m.toy", *words, "-b", "plain")
    assert (done.status, option in done.err, package in done.err) == (3, True, True), done.err
