"""Build an engine that may use float16, keep it in a file, and run it.

Loaders are put together first and do nothing yet; the runner calls them when it is activated.
"""

import numpy as np
from models import identity

from polycmp_trt import CreateConfig, EngineFromNetwork, NetworkFromOnnxPath, SaveEngine, TrtRunner

build = EngineFromNetwork(NetworkFromOnnxPath(identity()), config=CreateConfig(fp16=True))
build = SaveEngine(build, path="identity.engine")
with TrtRunner(build) as runner:
    x = np.random.default_rng(0).random((1, 1, 2, 2), np.float32)
    outputs = runner.infer({"x": x})
    np.testing.assert_allclose(outputs["y"], x, atol=1e-3)
    print(f"ran in {runner.last_inference_time() * 1e6:.0f} us on the device")
