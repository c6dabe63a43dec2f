"""Files of inputs and outputs that tests of commands write, and what such files hold."""

from __future__ import annotations

import numpy as np

from polycmp.results.files import InputsWriter, OutputsWriter, open_inputs


def inputs(path, *feeds):
    """Save feeds, each with a number for every input."""
    with InputsWriter(path) as writer:
        for feed in feeds:
            writer.add({name: np.float32(value) * np.ones((1, 2), np.float32) for name, value in feed.items()})


def outputs(path, label, *values):
    """Save the output `o` of a run, with a number for every iteration."""
    with OutputsWriter(path) as writer:
        for value in values:
            writer.add(label, {"o": np.full(3, value)}, 0.5)


def read(path):
    """Return the first element of every input in a file, by iteration."""
    return [{name: float(array.flat[0]) for name, array in feed.items()} for feed in open_inputs([path])]
