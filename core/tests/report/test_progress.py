"""What is shown of work that takes long."""

from __future__ import annotations

import re
import time

from polycmp.report import progress as module


def test_a_log_gets_a_line_from_time_to_time(monkeypatch, capsys):
    monkeypatch.setattr(module, "INTERVAL", 0.001)
    with module.progress() as tell:
        shown = ""
        for index in range(100_000):
            tell(f"iteration {index} of many")
            shown += capsys.readouterr().err
            if len(set(shown.splitlines())) > 2:
                break
            time.sleep(0.001)
    assert re.match(r"(polycmp: (working|iteration \d+ of many)\n)+$", shown)
    assert len(set(shown.splitlines())) > 2


def test_work_that_is_done_before_says_nothing(capsys):
    with module.progress() as tell:
        tell("iteration 1")
    assert capsys.readouterr().err == ""


def test_silence_is_kept(monkeypatch, capsys):
    monkeypatch.setattr(module, "INTERVAL", 0.0)
    with module.progress(silent=True) as tell:
        tell("iteration 1")
        time.sleep(0.01)
    assert capsys.readouterr().err == ""
