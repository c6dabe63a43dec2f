"""Read the errors of each output out of a comparison."""

from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, CompareFunc

runners = [OnnxrtRunner(SessionFromOnnx("conv.onnx")), OnnxrtRunner(SessionFromOnnx("conv_off.onnx"))]
results = Comparator.run(runners)
for stat in ("max", "mean", "median"):
    compare = CompareFunc.simple(atol={"y": 1e-3}, rtol={"": 0.0}, check_error_stat={"y": stat})
    for name, result in compare(results[0][1][0], results[1][1][0]).items():
        print(stat, name, result == True, round(float(result.max_absdiff), 4), round(float(result.mean_absdiff), 4))
