"""Compare an exported model with its source in ONNX Runtime, and keep the outputs."""

from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, CompareFunc


def main():
    runners = [OnnxrtRunner(SessionFromOnnx("conv.onnx")), OnnxrtRunner(SessionFromOnnx("conv_copy.onnx"))]
    run_results = Comparator.run(runners)
    assert bool(Comparator.compare_accuracy(run_results, compare_func=CompareFunc.simple(atol=1e-8)))
    run_results.save("inference_results.json")
    print("saved", len(run_results), "runners")


if __name__ == "__main__":
    main()
