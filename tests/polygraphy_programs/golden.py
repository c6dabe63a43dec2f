"""Keep golden outputs, and compare later runs with them."""

from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, CompareFunc, DataLoader, RunResults


def run(path, name):
    return Comparator.run([OnnxrtRunner(SessionFromOnnx(path), name=name)], data_loader=DataLoader(iterations=2))


run("conv.onnx", "golden").save("golden.json")
for path in ("conv_copy.onnx", "conv_off.onnx"):
    results = run(path, "new")
    results.extend(RunResults.load("golden.json"))
    print(list(results.keys()), [len(iterations) for iterations in results.values()])
    print(path, bool(Comparator.compare_accuracy(results, compare_func=CompareFunc.simple(atol=1e-4, rtol=0.0))))
