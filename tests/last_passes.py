"""The last pass of a case as a suite keeps it, and one that differs from what the case gives."""

from __future__ import annotations

import json

import numpy as np

from polycmp.results.files import OutputsWriter, open_runs

#: A case of one backend.
ONE = '[[case]]\nname = "one"\nmodel = "one.onnx"\nbackends = ["onnxrt"]\n'


def kept(folder):
    """Return the only file in a folder."""
    (path,) = folder.iterdir()
    return path


def change(path, by, environment=None):
    """Make a last pass that differs from what the case gives."""
    (run,) = open_runs(path)
    iterations = list(run.iterations)
    with OutputsWriter(path) as writer:
        for outputs in iterations:
            moved = outputs.holding({name: np.array(value + np.float32(by)) for name, value in outputs.items()})
            moved.environment = {**outputs.environment, **(environment or {})}
            writer.add(run.label, moved, 0.1)


def drift(suite):
    """Return the result of the only case of the latest run."""
    (path,) = suite.latest.glob("cases/*/result.json")
    return json.loads(path.read_text())
