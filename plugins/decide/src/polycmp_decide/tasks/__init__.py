"""The tasks, by name: what becomes of outputs, and what is counted."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import cast

from polycmp_decide.options import TASKS
from polycmp_decide.tasks.task import Setting, Task

__all__ = ["Setting", "Task", "make_task"]


def make_task(name: str, setting: Setting) -> Task:
    """Return a task.

    Args:
        name: One of `TASKS`.
        setting: What a user said of it.
    """
    module, _, attribute = TASKS[name].partition(":")
    make = cast("Callable[[Setting], Task]", getattr(import_module(f"polycmp_decide.tasks.{module}"), attribute))
    return make(setting)
