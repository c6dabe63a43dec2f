"""Replays one issue by its number, for processes that share the work."""

from __future__ import annotations

import re
from dataclasses import replace

from truth.history.environments import FOLDER
from truth.history.issue import Case
from truth.history.issues import ISSUES
from truth.history.replaying import Replayed, replay


def replay_one(number: int) -> Replayed:
    """Replay one issue in a process of its own; what the table does not need is left out."""
    issue = ISSUES[number]
    item = replay(issue, FOLDER / "issues" / re.sub(r"\W+", "-", issue.name))
    bare = replace(issue, make=_gone)
    return replace(item, issue=bare, bad=replace(item.bad, document={}), good=replace(item.good, document={}))


def _gone() -> Case:
    raise RuntimeError("the model stayed in the process that replayed it")
