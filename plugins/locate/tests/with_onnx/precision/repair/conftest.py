"""What tests of mending share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def mend(polycmp):
    """Mend a faulty model; return what was printed, and the report."""
    import numpy as np
    import onnx
    from mending import SOURCE, WORDS

    onnx.save(SOURCE, "source.onnx")
    draw = np.random.default_rng(11)
    np.savez("x.npz", image=draw.standard_normal((2, 3, 32, 32)).astype(np.float32))

    def run(faulty, *words):
        onnx.save(faulty, "faulty.onnx")
        done = polycmp("locate", *WORDS, "--save-fixed", "fixed.onnx", "--report", "found.json", *words)
        return done, json.loads(Path("found.json").read_text()) if Path("found.json").exists() else {}

    return run
