"""Read the errors of each output out of a comparison."""
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, CompareFunc

runners = [OnnxrtRunner(SessionFromOnnx("conv.onnx")), OnnxrtRunner(SessionFromOnnx("conv_off.onnx"))]
results = Comparator.run(runners)
for stat in ("max", "mean", "median"):
    compare = CompareFunc.simple(atol={"y": 1e-3}, rtol={"": 0.0}, check_error_stat={"y": stat})
    accuracy = Comparator.compare_accuracy(results, compare_func=compare)
    for iterations in accuracy.values():
        for outputs in iterations:
            for name, result in outputs.items():
                print(stat, name, bool(result), round(float(result.max_absdiff), 4), round(float(result.mean_absdiff), 4))
