"""One engine, three optimization profiles, one runner for each.

The contexts are the caller's, so activating a runner costs little and each context keeps its profile.
"""

import numpy as np
from models import dynamic_identity

from polycmp_trt import CreateConfig, Profile, TrtRunner, engine_from_network, network_from_onnx_path

profiles = [
    Profile().add("X", min=(1, 3, 28, 28), opt=(1, 3, 28, 28), max=(1, 3, 28, 28)),
    Profile().add("X", min=(1, 3, 28, 28), opt=(4, 3, 28, 28), max=(32, 3, 28, 28)),
    Profile().add("X", min=(128, 3, 28, 28), opt=(128, 3, 28, 28), max=(128, 3, 28, 28)),
]
engine = engine_from_network(network_from_onnx_path(dynamic_identity()), config=CreateConfig(profiles=profiles))

low_latency = TrtRunner(engine.create_execution_context())
batching = TrtRunner(engine.create_execution_context(), optimization_profile=1)
offline = TrtRunner(engine.create_execution_context())

image = np.random.default_rng(0).random((1, 3, 28, 28), np.float32)
with low_latency:
    np.testing.assert_array_equal(low_latency.infer({"X": image})["Y"], image)
    with batching:  # both are active
        batch = np.repeat(image, 4, axis=0)
        np.testing.assert_array_equal(batching.infer({"X": batch})["Y"], batch)
with batching:
    batch = np.repeat(image, 16, axis=0)
    np.testing.assert_array_equal(batching.infer({"X": batch})["Y"], batch)
with offline:
    offline.set_profile(2)
    batch = np.repeat(image, 128, axis=0)
    np.testing.assert_array_equal(offline.infer({"X": batch})["Y"], batch)
print("three profiles")
