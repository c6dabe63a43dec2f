"""Signals that end a command: which are taken, what they raise, and that the process is left as it was."""

from __future__ import annotations

import signal

import pytest

from polycmp._shutdown import ENDING, SignalReceived, ended_by_signals

SIGTERM = signal.SIGTERM


def test_a_signal_is_raised_in_the_block_and_the_handlers_are_as_before():
    assert SIGTERM in ENDING
    before = [signal.getsignal(number) for number in ENDING]
    with pytest.raises(SignalReceived) as raised, ended_by_signals():
        signal.raise_signal(SIGTERM)
    assert (raised.value.number, str(raised.value)) == (SIGTERM, "SIGTERM")
    assert [signal.getsignal(number) for number in ENDING] == before


def test_a_signal_that_is_ignored_stays_so(monkeypatch):
    before = signal.signal(SIGTERM, signal.SIG_IGN)
    try:
        with ended_by_signals():
            signal.raise_signal(SIGTERM)
            assert signal.getsignal(SIGTERM) == signal.SIG_IGN
    finally:
        signal.signal(SIGTERM, before)


def test_a_handler_of_the_program_is_its_own():
    seen = []
    before = signal.signal(SIGTERM, lambda number, frame: seen.append(number))
    try:
        with ended_by_signals():
            signal.raise_signal(SIGTERM)
    finally:
        signal.signal(SIGTERM, before)
    assert seen == [SIGTERM]


def test_nothing_is_left_of_a_block_that_ends_well():
    before = [signal.getsignal(number) for number in ENDING]
    wakeup = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(wakeup)
    with ended_by_signals():
        pass
    after = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(after)
    assert (after, [signal.getsignal(number) for number in ENDING]) == (wakeup, before)
