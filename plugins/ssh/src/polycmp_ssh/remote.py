"""The side of the other machine: makes runners of jobs and answers what they compute, until nobody asks any more."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from polycmp.errors import error_to_json, is_users_failure
from polycmp.plugins import Registry
from polycmp.runner import Runner, infer, input_metadata, version_of
from polycmp.runs import open_job
from polycmp_ssh.stream import Message, Stream


def serve(reading: BinaryIO, writing: BinaryIO, folder: str) -> None:
    """Answer messages until the other side is gone.

    Args:
        reading: Where messages come from.
        writing: Where answers go.
        folder: Where the files of models are kept meanwhile.
    """
    stream, worker = Stream(reading, writing), _Worker(Path(folder))
    try:
        while (received := stream.receive(Path(folder))) is not None:
            stream.send(*worker.answer(*received))
    except (BrokenPipeError, EOFError):  # cut off
        pass


class _Worker:
    """Answers messages with a runner at a time.

    Args:
        folder: Where the files of models are.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._runner: Runner | None = None

    @cached_property
    def _registry(self) -> Registry:
        return Registry.discover()

    def answer(self, message: Message, tensors: Mapping[str, Any]) -> tuple[Message, Mapping[str, Any]]:
        """Do what a message asks for; return the answer, which may be an error, and its tensors."""
        try:
            if message["do"] == "activate":
                return self._activate(message["job"], message["model"]), {}
            if message["do"] == "infer":
                return self._infer(tensors)
            return self._deactivate(), {}
        except BaseException as error:
            if not is_users_failure(error):
                raise
            return {"error": error_to_json(error)}, {}

    def _activate(self, job: Message, model: str) -> Message:
        """Make and activate the runner of a job, whose model is in the folder."""
        job["plan"]["model"] = str(self._folder / model)
        backend = open_job(job, self._registry)
        runner = backend.make_runner()
        runner.activate()
        self._runner = runner
        return {"inputs": input_metadata(runner).plain(), "version": version_of(runner, backend.needs)}

    def _infer(self, feed: Mapping[str, Any]) -> tuple[Message, Mapping[str, Any]]:
        assert self._runner is not None
        outputs = infer(self._runner, feed)
        return {"seconds": self._runner.last_inference_time()}, outputs

    def _deactivate(self) -> Message:
        if self._runner is None:
            return {"notes": []}
        runner, self._runner = self._runner, None
        runner.deactivate()
        return {"notes": [str(note) for note in runner.notes]}
