"""Wrap a runner in a class that is called, and keep messages down while it infers.

Found in: NVIDIA/TensorRT demo/HuggingFace/NNDF/polygraphy_utils.py
"""

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.logger import G_LOGGER as PG_LOGGER


class PolygraphyOnnxRunner:
    def __init__(self, path):
        self.trt_session = SessionFromOnnx(path)
        self.trt_context = OnnxrtRunner(self.trt_session)
        self.trt_context.activate()

    def __call__(self, *args, **kwargs):
        with PG_LOGGER.verbosity(PG_LOGGER.WARNING):
            return self.forward(*args, **kwargs)

    def release(self):
        self.trt_context.deactivate()


class Encoder(PolygraphyOnnxRunner):
    def forward(self, ids, mask):
        return self.trt_context.infer({"ids": ids, "mask": mask})["hidden"]


encoder = Encoder("dynamic.onnx")
for length in (1, 3):
    print(encoder(np.arange(length, dtype=np.int64)[None], np.ones((1, length), np.int64)).shape)
print(encoder.trt_context.last_inference_time() > 0)
encoder.release()
