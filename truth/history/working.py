"""Replays one issue by its number, for processes that share the work."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from truth.history.environments import FOLDER
from truth.history.issue import Case
from truth.history.issues import ISSUES
from truth.history.replaying import Replayed, replay

#: Where the last answers are.
_KEPT = FOLDER / "replayed"


def replay_one(number: int) -> Replayed:
    """Replay one issue in a process of its own; what the table does not need is left out."""
    issue = ISSUES[number]
    item = replay(issue, FOLDER / "issues" / re.sub(r"\W+", "-", issue.name))
    bare = replace(issue, make=_gone)
    found = replace(item, issue=bare, bad=replace(item.bad, document={}), good=replace(item.good, document={}))
    _KEPT.mkdir(parents=True, exist_ok=True)
    _kept(issue.name).write_bytes(pickle.dumps(found))
    return found


def kept() -> Iterator[Replayed]:
    """Yield the last answer about each issue, in their order."""
    for issue in ISSUES:
        if _kept(issue.name).exists():
            found: Replayed = pickle.loads(_kept(issue.name).read_bytes())
            yield replace(found, issue=replace(issue, make=_gone))


def _kept(name: str) -> Path:
    return _KEPT / (re.sub(r"\W+", "-", name) + ".pickle")


def _gone() -> Case:
    raise RuntimeError("the model stayed in the process that replayed it")
