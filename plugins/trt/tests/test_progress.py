"""What a build says while it goes on, and how long it foretells."""

from __future__ import annotations

import logging
import re
import time

from polycmp_trt.build.progress import BuildHistory, BuildProgress


def test_a_build_may_take_as_long_as_the_one_nearest_in_size():
    known = BuildHistory()
    assert known.expect("", 100) is None
    known.learn("", 100, 20.0)
    known.learn("", 10, 4.0)
    known.learn("fp16", 100, 60.0)
    assert known.expect("", 90) == 18.0
    assert known.expect("", 20) == 8.0
    assert known.expect("fp16", 50) == 30.0
    assert known.expect("int8", 50) is None


def test_a_long_build_says_what_is_built_and_how_far_it_is(caplog):
    known, phases = BuildHistory(), {}
    known.learn("fp16", 213, 64.0)
    with caplog.at_level(logging.INFO), BuildProgress(213, "fp16", phases, known, every=0.05):
        phases["Timing"] = (45, 120)
        while not caplog.records:
            time.sleep(0.01)
    words = r"still building an engine of 213 layers \(fp16\): \d+ of about 64 s; Timing: 45 of 120"
    assert re.search(words, caplog.text)
    count = len(caplog.records)
    time.sleep(0.2)  # of what is not to happen
    assert len(caplog.records) == count, "it goes on after the build"


def test_a_short_build_says_nothing(caplog):
    with caplog.at_level(logging.DEBUG), BuildProgress(3, known=BuildHistory()):
        pass
    assert not caplog.records


def test_a_build_that_failed_foretells_nothing():
    known = BuildHistory()
    try:
        with BuildProgress(3, known=known):
            raise ValueError
    except ValueError:
        pass
    assert known.expect("", 3) is None
