"""Runners whose work is done on another machine: the service `remote`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from polycmp.errors import BackendError, ModelError, PluginError
from polycmp.loader import Loader
from polycmp.model import Model
from polycmp.plan import BackendPlan, DataPlan
from polycmp.runner import Runner
from polycmp.runs import Job, MakeWorker, ResolvedBackend, WaitingWorkers, make_job
from polycmp.tensors import TensorMetadata
from polycmp_ssh.link import Link
from polycmp_ssh.place import Place


def make_workers(data: DataPlan, timeout: float) -> MakeWorker:
    """Return the maker of runners whose work is done on another machine.

    Args:
        data: The source of inputs: backends may calibrate with them.
        timeout: Seconds after which a machine that does not answer counts as hung; 0 waits for ever.

    Raises:
        BackendError: This system cannot wait for a pipe with a limit.
    """
    if os.name == "nt":
        raise BackendError(
            "backends on other machines cannot be reached from Windows",
            why="it does not wait for a program's output with a limit",
            hint="use Linux, macOS or WSL",
        )
    links = WaitingWorkers[Link]()

    def make(backend: ResolvedBackend, part: Loader[Any] | None, same_inputs: bool) -> Runner:
        if backend.contribution is None:
            raise PluginError(
                f"no plugin here knows the backend {backend.plan.backend!r}",
                whose=backend.label,
                why="its package is sent to the other machine; the library that it runs is needed there alone",
                hint="polycmp plugins list",
            )
        distribution = backend.contribution.distribution
        return RemoteRunner(backend.plan, backend.model, data, timeout, part, same_inputs, distribution, links)

    return make


class RemoteRunner(Runner):
    """Runs one backend on another machine.

    Args:
        backend: The backend.
        model: The model, or the one that the part was cut out of.
        data: The source of inputs.
        timeout: As for `make_workers`.
        part: Makes what runs in place of the model; None for the model itself.
        same_inputs: Whether the part has the model's own inputs.
        distribution: The package that brings the backend.
        links: Connections to use again.
    """

    outputs_stay_valid = True

    def __init__(
        self,
        backend: BackendPlan,
        model: Model,
        data: DataPlan,
        timeout: float,
        part: Loader[Any] | None,
        same_inputs: bool,
        distribution: str,
        links: WaitingWorkers[Link],
    ) -> None:
        super().__init__(backend.label)
        self._backend, self._model, self._data, self._timeout = backend, model, data, timeout
        self._part, self._same_inputs = part, same_inputs
        self._distribution, self._links = distribution, links
        self._link: Link | None = None
        self._metadata = TensorMetadata()
        self._failed = False

    def activate_impl(self) -> None:
        """Connect, send the model, and have the other side activate its runner.

        Raises:
            BackendError: The machine cannot be reached, or the backend fails there.
            ModelError: The model cannot be sent.
            PluginError: Something is missing there.
        """
        place = Place.of(self._backend.python, self.name)
        waiting = self._links.take((place, self._distribution))
        link = self._link = waiting or Link(place, self._distribution, self.name)
        try:
            with tempfile.TemporaryDirectory(prefix="polycmp-", ignore_cleanup_errors=True) as folder:
                job, path = self._written(Path(folder))
                files = _files(path, self._model, self._part)
                answer = link.activate(job.to_json(), path, files, self._timeout, keep=self._part is None)
        except BaseException:
            self._end()
            raise
        for entry in answer["inputs"]:
            self._metadata.add(**entry)
        self.backend_version = answer["version"]
        self.notes.append(f"runs on {place.host}: {link.told['machine']}, Python {link.told['python']}")

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the input metadata of the other side's runner."""
        return self._metadata

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Send the feed and return the outputs; the time is that of the other side."""
        assert self._link is not None
        self._failed = True
        answer, outputs = self._link.ask({"do": "infer"}, self._timeout, feed_dict)
        self._failed = False
        self.inference_time = answer["seconds"]
        return outputs

    def deactivate_impl(self) -> None:
        """Let the other side free its runner, and keep the connection for the next one."""
        link = self._link
        if link is None or self._failed:  # what a library remembers of a failure would be blamed on the next runner
            self._end()
            return
        try:
            self.notes.extend(link.ask({"do": "deactivate"}, self._timeout)[0]["notes"])
        except BaseException:
            self._end()
            raise
        self._link = None
        self._links.put((link.place, self._distribution), link)

    def _written(self, folder: Path) -> tuple[Job, Path]:
        """Return the job and the file to send, written where it is a part."""
        if self._part is None:
            return make_job(self._backend, self._model, self._data), Path(self._model.path)
        path = folder / f"part{Path(self._model.path).suffix}"
        self._model.save(self._part, str(path))
        return make_job(self._backend, self._model, self._data, str(path), same_inputs=self._same_inputs), path

    def _end(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None


def _files(path: Path, model: Model, part: Loader[Any] | None) -> dict[str, Path]:
    """Return the files of a model by their path beside it.

    Raises:
        ModelError: One of them is not below the model's folder.
    """
    folder = path.absolute().parent
    if part is not None or path.is_dir():
        root = folder if part is not None else path.absolute()
        paths = [item for item in root.rglob("*") if item.is_file()]
    else:
        paths = [path, *map(Path, model.files())]
    outside = [item for item in paths if not item.absolute().is_relative_to(folder)]
    if outside:
        raise ModelError(
            f"{outside[0]} is not below {folder}",
            whose=str(path),
            why="files of a model are sent as they lie beside it",
        )
    return {item.absolute().relative_to(folder).as_posix(): item for item in paths}
