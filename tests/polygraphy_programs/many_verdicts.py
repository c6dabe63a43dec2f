"""Judge the same results by a tolerance, and by the ranking of the classes.

Found in: NVIDIA/trt-samples-for-hackathon-cn cookbook/07-Tool/Polygraphy/More/02-ComparingBackends
"""

from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, CompareFunc, PostprocessFunc
from polygraphy.logger import G_LOGGER

G_LOGGER.module_severity = G_LOGGER.ERROR


def run_both(other):
    return Comparator.run(
        [OnnxrtRunner(SessionFromOnnx(path), name=name) for name, path in (("one", "conv.onnx"), ("two", other))]
    )


def verdict(results, tag, func):
    try:
        print(tag, bool(Comparator.compare_accuracy(results, compare_func=func)))
    except Exception as error:
        print(tag, "ERROR", type(error).__name__)


results = run_both("conv_copy.onnx")
print(list(results.keys()), len(results["one"]))
verdict(results, "simple", CompareFunc.simple(atol=1e-8))
verdict(run_both("conv_off.onnx"), "other weights", CompareFunc.simple(atol=1e-9))
top = Comparator.postprocess(run_both("conv_off.onnx"), PostprocessFunc.top_k(k={"y": (3, 1)}))
verdict(top, "indices", CompareFunc.indices(index_tolerance=0))
