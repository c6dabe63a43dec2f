"""Files of one model, from old to new: checkpoints, nightly exports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from polycmp.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from polycmp.plan import Plan


@dataclass
class Files:
    """Files that take the place of the model, each for all backends without a model of their own.

    Attributes:
        names: The files, from old to new.
        base: The run, as the user asked for it.
    """

    names: Sequence[str]
    base: Plan
    what: str = "file"
    varied: str = ""
    runtime: str = ""

    @property
    def first(self) -> int:
        """The place of the newest."""
        return len(self.names) - 1

    def prepare(self, place: int) -> None:
        """Do nothing: the file exists."""

    def is_ready(self, place: int) -> bool:
        """Return True: there is nothing to prepare."""
        return True

    def plan(self, place: int) -> Plan:
        """Return the plan with the model of a file."""
        return replace(self.base, model=self.names[place])

    def interpreter(self, place: int) -> str:
        """Return an empty text: a file has no environment."""
        return ""

    def as_typed(self, place: int) -> Plan:
        """Return the run of a candidate."""
        return self.plan(place)

    def steps(self, place: int) -> Sequence[str]:
        """Return no steps: no file has to be written."""
        return ()

    def find(self, name: str) -> int:
        """Return the place of a file, named as it was given or by its last part."""
        places = [place for place, item in enumerate(self.names) if name in {item, Path(item).name}]
        if len(places) != 1:
            raise UsageError(f"{name} is not one of the files", why=did_you_mean(name, self.names))
        return places[0]


def open_files(names: Sequence[str], plan: Plan) -> Files:
    """Return the files to search over.

    Raises:
        UsageError: There are fewer than two, or one is not there.
    """
    if len(names) < 2:
        raise UsageError(
            "at least two files are needed", hint="polycmp bisect old.onnx new.onnx -b onnxrt -b onnx --over files"
        )
    if missing := [name for name in names if not Path(name).exists()]:
        raise UsageError(f"there is no file {missing[0]}", whose="--over files")
    return Files(list(dict.fromkeys(names)), plan)
