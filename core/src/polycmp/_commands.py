"""Commands to type after a run, as outcomes and reports hold them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Repeat:
    """One feed on which something failed, from a data loader that can make it again alone.

    Attributes:
        iteration: The iteration, counted from 0.
        inputs: Description of the feed.
        command: The command line that repeats it.
        failed: Names of the failed outputs or runs, in words.
    """

    iteration: int
    inputs: str
    command: str
    failed: str


@dataclass(frozen=True)
class NextStep:
    """A command that looks further into what was found.

    Attributes:
        command: The command line.
        purpose: Purpose of the command, in a sentence.
    """

    command: str
    purpose: str
