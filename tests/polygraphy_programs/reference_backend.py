"""A backend of one's own that computes in a wider type.

Found in: NVIDIA/trt-samples-for-hackathon-cn cookbook/07-Tool/Polygraphy/More/19-CustomBackend
"""

import copy
import time
from collections import OrderedDict

from polygraphy import mod, util
from polygraphy.backend.base import BaseRunner
from polygraphy.backend.onnx import GsFromOnnx, OnnxFromPath
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.common import TensorMetadata
from polygraphy.comparator import Comparator
from polygraphy.exception import PolygraphyException
from polygraphy.logger import G_LOGGER

np = mod.lazy_import("numpy")
gs = mod.lazy_import("onnx_graphsurgeon")


@mod.export()
class CookbookRefRunner(BaseRunner):
    def __init__(self, graph, name=None, precision=None):
        super().__init__(name=name, prefix="cookbook-ref-runner")
        self._graph = graph
        self.precision = util.default(precision, "float32")
        if self.precision not in ("float32", "float64"):
            G_LOGGER.critical(f"Invalid precision: {self.precision}")

    @util.check_called_by("activate")
    def activate_impl(self):
        self.graph, _ = util.invoke_if_callable(self._graph)

    @util.check_called_by("get_input_metadata")
    def get_input_metadata_impl(self):
        meta = TensorMetadata()
        for tensor in self.graph.inputs:
            meta.add(tensor.name, tensor.dtype, tensor.shape)
        return meta

    @util.check_called_by("infer")
    def infer_impl(self, feed_dict):
        start = time.time()
        values = {name: np.asarray(value).astype(self.precision) for name, value in copy.copy(feed_dict).items()}
        for node in self.graph.nodes:
            if node.op != "Identity":
                G_LOGGER.critical(f"Op: {node.op} is not supported")
            values[node.outputs[0].name] = values[node.inputs[0].name]
        outputs = OrderedDict()
        for tensor in self.graph.outputs:
            outputs[tensor.name] = values[tensor.name].astype(tensor.dtype)
        self.inference_time = time.time() - start
        return outputs

    @util.check_called_by("deactivate")
    def deactivate_impl(self):
        del self.graph


load = GsFromOnnx(OnnxFromPath("identity.onnx"))
runners = [CookbookRefRunner(load, precision="float64"), OnnxrtRunner(SessionFromOnnx("identity.onnx"))]
print(runners[0].name.startswith("cookbook-ref-runner-N0"))
print(bool(Comparator.compare_accuracy(Comparator.run(runners))))
try:
    CookbookRefRunner(load, precision="int8")
except PolygraphyException as error:
    print(error)
with CookbookRefRunner(load) as runner:
    print(runner.get_input_metadata())
    runner.infer({"x": np.ones((1, 1, 2, 2), np.float32)})
    print(runner.last_inference_time() >= 0, runner.is_active)
