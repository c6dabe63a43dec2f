"""Keep data on the device: feed one runner's outputs to the next without a way over the host.

Anything with `__cuda_array_interface__` or `__dlpack__` may be fed: torch, CuPy, Numba. Arrays from `pinned_empty`
are copied to the device without being staged first.
"""

from importlib.util import find_spec

import numpy as np
from models import identity

from polycmp_trt import EngineFromNetwork, NetworkFromOnnxPath, TrtRunner

build = EngineFromNetwork(NetworkFromOnnxPath(identity()))
with TrtRunner(build) as first, TrtRunner(build) as second:
    x = np.random.default_rng(0).random((1, 1, 2, 2), np.float32)
    on_device = first.infer({"x": x}, copy_outputs_to_host=False)
    print(on_device["y"])
    np.testing.assert_array_equal(second.infer({"x": on_device["y"]})["y"], x)
    if find_spec("torch") is not None:
        import torch

        # What TensorRT wrote, as a tensor over the same memory; and a tensor as an input, read where it lies.
        tensor = torch.as_tensor(on_device["y"], device="cuda")
        np.testing.assert_array_equal(second.infer({"x": tensor + 1})["y"], x + 1)
