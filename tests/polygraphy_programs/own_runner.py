"""A runner for a framework of one's own beside ONNX Runtime.

Found in: triton-inference-server/model_navigator model_navigator/framework_api/runners
"""

import time
from collections import OrderedDict

import numpy as np
from polygraphy import util
from polygraphy.backend.base import BaseRunner
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.common import TensorMetadata
from polygraphy.comparator import Comparator, CompareFunc


class NumpyRunner(BaseRunner):
    def __init__(self, function, name=None):
        super().__init__(name=name, prefix="numpy-runner")
        self._function = function

    def activate_impl(self):
        self.function, _ = util.invoke_if_callable(self._function)

    def get_input_metadata_impl(self):
        return TensorMetadata().add("x", dtype=np.float32, shape=(1, 1, 2, 2))

    def infer_impl(self, feed_dict):
        start = time.time()
        outputs = OrderedDict(y=self.function(feed_dict["x"]))
        self.inference_time = time.time() - start
        return outputs

    def deactivate_impl(self):
        del self.function


runners = [NumpyRunner(lambda: np.copy), OnnxrtRunner(SessionFromOnnx("identity.onnx"))]
results = Comparator.run(runners, warm_up=1)
print(bool(Comparator.compare_accuracy(results, compare_func=CompareFunc.simple(rtol=0, atol=0))))
print(runners[0].name.startswith("numpy-runner"))
