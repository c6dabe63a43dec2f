"""Warm the runners up before the iterations that count."""

from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, DataLoader


def main():
    runners = [OnnxrtRunner(SessionFromOnnx("conv.onnx")), OnnxrtRunner(SessionFromOnnx("conv_copy.onnx"))]
    results = Comparator.run(runners, DataLoader(iterations=2), warm_up=2)
    print([len(iterations) for _, iterations in results], bool(Comparator.compare_accuracy(results)))


if __name__ == "__main__":
    main()
