"""A backend that notes which process runs which model, and does what the model is called after."""

from __future__ import annotations

import shutil

from suite_texts import case

#: A backend that notes which process runs which model, and does what the model is called after.
RUNNER = """
import os
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata


class FrailRunner(Runner):
    def __init__(self, path, name):
        super().__init__(name)
        self.stem = Path(path).stem

    def get_input_metadata_impl(self):
        return TensorMetadata().add("x", np.float32, [1, 4])

    def infer_impl(self, feed_dict):
        with open("notes.txt", "a") as notes:
            print(self.stem, os.getpid(), os.environ.get("FRAIL", "unset"), file=notes)
        does = self.stem.rstrip("0123456789")
        if does == "aborts":
            os.abort()
        if does == "sleeps":
            time.sleep(600)
        if does == "starts":
            subprocess.Popen(["sleep", "600"])
        if does == "leaves":
            threading.Thread(target=time.sleep, args=(600,)).start()
        if does == "sets":
            os.environ["FRAIL"] = "set"
            os.chdir("/")
        return {"y": feed_dict["x"] * np.float32(2) + np.float32(1)}


def make_runner(model, options, *, name):
    return FrailRunner(model.path, name)
"""
PLUGIN = """
from polycmp.spec import RunnerSpec, hookimpl


@hookimpl
def polycmp_runners():
    yield RunnerSpec("frail", "Does what the model is called after", "frail_backend.runner:make_runner")
"""


def ran(suite, *names: str, more: str = "", words: tuple = (), status: int = 0) -> dict[str, dict]:
    """Run cases of these models, one after the other, and return their results."""
    for name in names:
        shutil.copy(suite.folder / "one.onnx", suite.folder / f"{name}.onnx")
    suite.write('[defaults]\nbackend = ["frail", "onnxrt"]\n' + "".join(case(n, more, f"{n}.onnx") for n in names))
    suite.driven("suite.toml", *words, status=status)
    return suite.results()


def notes(suite) -> list[list[str]]:
    return [line.split() for line in (suite.folder / "notes.txt").read_text().splitlines()]
