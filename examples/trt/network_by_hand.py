"""Write a network with TensorRT's API; `polycmp inspect model network_by_hand.py:create_network` shows it."""

import numpy as np
import tensorrt as trt

from polycmp import func
from polycmp_trt import CreateNetwork, EngineFromNetwork, TrtRunner


@func.extend(CreateNetwork())
def create_network(builder, network):
    tensor = network.add_input(name="input", shape=(64, 64), dtype=trt.float32)
    ones = network.add_constant(shape=(64, 64), weights=np.ones((64, 64), np.float32)).get_output(0)
    total = network.add_elementwise(tensor, ones, op=trt.ElementWiseOperation.SUM).get_output(0)
    total.name = "output"
    network.mark_output(total)


if __name__ == "__main__":
    with TrtRunner(EngineFromNetwork(create_network)) as runner:
        x = np.random.default_rng(0).random((64, 64), np.float32)
        np.testing.assert_array_equal(runner.infer({"input": x})["output"], x + 1)
        print("one added")
