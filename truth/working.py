"""One scenario, in a process that may be another one."""

from __future__ import annotations

import re
from pathlib import Path

from truth.judge import Judged, judge
from truth.scenarios import SCENARIOS

FOLDER = Path(__file__).parents[1] / ".cache" / "truth"


def folder_of(name: str, root: Path = FOLDER) -> Path:
    """Return the folder that a scenario is written to."""
    return root / re.sub(r"\W+", "-", name).strip("-")


def judge_one(name: str) -> Judged:
    """Judge the scenario of a name in a folder of its own, and leave out what only the judge needed."""
    return judge(SCENARIOS[name], folder_of(name)).in_few_words()
