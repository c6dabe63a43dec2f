"""The tasks by name: predictions from outputs, and their scores."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import cast

from polycmp_decide.options import TASKS
from polycmp_decide.tasks.task import Task, TaskOptions

__all__ = ["Task", "TaskOptions", "make_task"]


def make_task(name: str, options: TaskOptions) -> Task:
    """Return a task.

    Args:
        name: One of `TASKS`.
        options: What a user said of it.
    """
    module, _, attribute = TASKS[name].partition(":")
    make = cast("Callable[[TaskOptions], Task]", getattr(import_module(f"polycmp_decide.tasks.{module}"), attribute))
    return make(options)
