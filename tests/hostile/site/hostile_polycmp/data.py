"""A data loader that misbehaves."""

from __future__ import annotations

import numpy as np

from hostile_polycmp.endings import ENDINGS

SHAPE = (2, 4)


def make_data(options):
    stage, _, mode = options.mode.partition("-")
    if stage == "make":
        ENDINGS[mode]()

    def load(inputs):
        if stage == "call":
            ENDINGS[mode]()
        return feeds(stage, mode)

    return load


def feeds(stage, mode):
    x = np.ones(SHAPE, np.float32)
    if stage == "reused":
        for value in range(3):
            x[...] = value
            yield {"x": x}
        return
    yield {"x": x.copy()}
    if stage == "next":
        ENDINGS[mode]()
    if stage == "gives":
        yield {"none": None, "list": [x], "number": {3: x}, "text": "x"}[mode]
