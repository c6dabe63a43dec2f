"""Variables that polycmp sets in its own environment."""

from __future__ import annotations

import os

from polycmp._environment import add_missing, callers_environment, remove


def test_what_the_caller_has_set_stays_and_the_rest_is_not_his(monkeypatch):
    monkeypatch.setenv("OF_THE_CALLER", "1")
    monkeypatch.delenv("OF_OURS", raising=False)
    added = add_missing({"OF_THE_CALLER": "2", "OF_OURS": "3"})
    assert (added, os.environ["OF_THE_CALLER"], os.environ["OF_OURS"]) == (["OF_OURS"], "1", "3")
    callers = callers_environment()
    assert callers["OF_THE_CALLER"] == "1"
    assert "OF_OURS" not in callers
    assert add_missing({"OF_OURS": "4"}) == []  # it is there
    remove(added)
    assert "OF_OURS" not in os.environ
    monkeypatch.setenv("OF_OURS", "5")
    assert callers_environment()["OF_OURS"] == "5"
