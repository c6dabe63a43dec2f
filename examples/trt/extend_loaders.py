"""Use TensorRT's own API in the middle of a chain of loaders.

`func.extend` hands what a loader made to your function: builder, network and parser, or the configuration.
"""

import numpy as np
import tensorrt as trt
from models import identity

from polycmp import func
from polycmp_trt import CreateConfig, EngineFromNetwork, NetworkFromOnnxPath, TrtRunner


@func.extend(NetworkFromOnnxPath(identity()))
def load_network(builder, network, parser):
    network.name = "MyIdentity"


@func.extend(CreateConfig())
def load_config(config):
    config.set_flag(trt.BuilderFlag.REFIT)


if __name__ == "__main__":
    with TrtRunner(EngineFromNetwork(load_network, config=load_config)) as runner:
        assert runner.engine.name == "MyIdentity"
        assert runner.engine.refittable
        runner.infer({"x": np.ones((1, 1, 2, 2), np.float32)})
        print("a network and a configuration of one's own")
