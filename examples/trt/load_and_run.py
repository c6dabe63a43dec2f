"""Run the engine that build_and_run.py left in a file."""

import numpy as np

from polycmp.loader import BytesFromPath
from polycmp_trt import EngineFromBytes, TrtRunner

with TrtRunner(EngineFromBytes(BytesFromPath("identity.engine"))) as runner:
    x = np.ones((1, 1, 2, 2), np.float32)
    # The runner may overwrite its outputs in the next infer(): copy what you keep.
    kept = runner.infer({"x": x})["y"].copy()
    runner.infer({"x": -x})
    np.testing.assert_array_equal(kept, x)
    print("loaded and run")
