"""Commands that repeat something and have each result checked by a person or by another command."""

from __future__ import annotations

from polycmp.builtin.debug.artifact import artifact_of
from polycmp.builtin.debug.check import make_check
from polycmp.builtin.debug.repeating import repeat_with_check, repeating_command
from polycmp.builtin.debug.replay import Replay
from polycmp.builtin.debug.sections import CheckingCommand, CheckSection, ReplaySection, check_option
from polycmp.builtin.debug.steps import Stepper

__all__ = [
    "CheckSection",
    "CheckingCommand",
    "Replay",
    "ReplaySection",
    "Stepper",
    "artifact_of",
    "check_option",
    "make_check",
    "repeat_with_check",
    "repeating_command",
]
