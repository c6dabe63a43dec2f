"""Compare two exports of a model with each other, and keep what was inferred.

Found in: ykk648/XSegNet2onnx tools/compare.py
"""

from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, CompareFunc, RunResults


def main():
    build_first, build_second = SessionFromOnnx("conv.onnx"), SessionFromOnnx("conv_copy.onnx")
    run_results = Comparator.run([OnnxrtRunner(build_first), OnnxrtRunner(build_second)])
    assert bool(Comparator.compare_accuracy(run_results, compare_func=CompareFunc.simple(atol=1e-8)))
    run_results.save("inference_results.json")
    print([len(iterations) for _, iterations in RunResults.load("inference_results.json")])


main()
