"""Copy and pickle a lazy chain of loaders, and load twice.

Found in: NVIDIA/trt-samples-for-hackathon-cn cookbook/07-Tool/Polygraphy/More/01-LazyVsImmediate
"""

import copy
import pickle

from polygraphy import func
from polygraphy.backend.onnx import FoldConstants, OnnxFromPath, fold_constants, onnx_from_path
from polygraphy.logger import G_LOGGER

G_LOGGER.module_severity = G_LOGGER.ERROR
lazy = FoldConstants(OnnxFromPath("foldable.onnx"))
print(type(lazy).__name__, type(fold_constants(onnx_from_path("foldable.onnx"))).__name__)
for how in (copy.deepcopy, pickle.dumps):
    how(lazy)
    print(how.__name__, "ok")
print(len(pickle.loads(pickle.dumps(lazy))().graph.node))
first, second = lazy(), lazy()
print(first is second)


@func.extend(OnnxFromPath("foldable.onnx"))
def load_and_rename(model):
    model.graph.name = "renamed"


print(load_and_rename().graph.name)
