"""Turn what goes wrong into a message for the user."""

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.exception import PolygraphyException
from polygraphy.logger import G_LOGGER

G_LOGGER.severity = G_LOGGER.CRITICAL + 1
with OnnxrtRunner(SessionFromOnnx("identity.onnx")) as runner:
    for feed in ({}, {"x": np.zeros((1, 1, 2, 2), np.float32), "z": np.zeros(1)}, {"x": np.zeros((1, 1, 2, 2))}):
        try:
            runner.infer(feed)
        except PolygraphyException:
            print("refused", sorted(feed))
try:
    OnnxrtRunner(SessionFromOnnx("identity.onnx", providers=["nobody"])).activate()
except PolygraphyException:
    print("no such provider")
