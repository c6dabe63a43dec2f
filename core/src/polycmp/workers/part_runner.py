"""Parts of a model in a worker process: the part travels as a file that lives as long as its runner."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from polycmp.loader import Loader
from polycmp.model import Model
from polycmp.plan import BackendPlan, Plan
from polycmp.workers.job import make_job
from polycmp.workers.runner import WorkerRunner


class PartWorkerRunner(WorkerRunner):
    """Runs a part of a model in a worker process.

    Args:
        plan: The plan.
        backend: The backend.
        model: The model that the part was cut out of.
        part: Makes the part.
        same_inputs: Whether the part has the model's own inputs.
    """

    def __init__(
        self, plan: Plan, backend: BackendPlan, model: Model, part: Loader[Any], same_inputs: bool = False
    ) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._model = model
        self._part = part
        data = plan.data if same_inputs else replace(plan.data, input_shapes={}, further_shapes=(), dimensions={})
        self._plan = replace(plan, loader_options={}, data=data)
        self._backend = backend
        super().__init__(make_job(self._plan, backend, model.registry), backend.python, plan.timeout)

    def activate_impl(self) -> None:
        """Write the part and start the worker.

        Raises:
            ModelError: Models of this kind cannot be written.
        """
        self._folder = tempfile.TemporaryDirectory(prefix="polycmp-", ignore_cleanup_errors=True)
        path = str(Path(self._folder.name) / f"part{Path(self._model.path).suffix}")
        try:
            self._model.save(self._part, path)
            self._job = make_job(self._plan, replace(self._backend, model=path), self._model.registry, part=True)
            super().activate_impl()
        except BaseException:
            self._folder.cleanup()
            raise

    def deactivate_impl(self) -> None:
        """End the worker and remove the file."""
        try:
            super().deactivate_impl()
        finally:
            if self._folder is not None:
                self._folder.cleanup()
