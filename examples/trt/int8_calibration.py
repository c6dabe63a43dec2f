"""Calibrate an int8 engine with one's own data, and keep the calibration in a file.

Works on releases that have calibrators. Later ones take Q/DQ nodes: `polycmp run MODEL -b trt:int8` makes them.
"""

import numpy as np
from models import identity

from polycmp_trt import Calibrator, CreateConfig, EngineFromNetwork, NetworkFromOnnxPath, TrtRunner


def calib_data():
    rng = np.random.default_rng(0)
    for _ in range(4):
        yield {"x": rng.random((1, 1, 2, 2), np.float32)}


if __name__ == "__main__":
    calibrator = Calibrator(data_loader=calib_data(), cache="identity-calib.cache")
    build = EngineFromNetwork(NetworkFromOnnxPath(identity()), config=CreateConfig(int8=True, calibrator=calibrator))
    with TrtRunner(build) as runner:
        x = np.full((1, 1, 2, 2), 0.5, np.float32)
        np.testing.assert_allclose(runner.infer({"x": x})["y"], x, atol=0.02)
        print("calibrated")
