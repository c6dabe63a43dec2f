"""Every loader has an immediate form: the same name in small letters, which does the work at once.

What you make yourself stays yours: the runner does not free the engine.
"""

import numpy as np
from models import identity

from polycmp_trt import TrtRunner, create_config, engine_from_network, network_from_onnx_path, save_engine

builder, network, parser = network_from_onnx_path(identity())
previous = network.get_output(0)
network.unmark_output(previous)
output = network.add_identity(previous).get_output(0)
output.name = "output"
network.mark_output(output)

engine = engine_from_network((builder, network), create_config(builder, network))
save_engine(engine, path="immediate.engine")
with TrtRunner(engine) as runner:
    x = np.ones((1, 1, 2, 2), np.float32)
    np.testing.assert_array_equal(runner.infer({"x": x})["output"], x)
    print("done at once")
