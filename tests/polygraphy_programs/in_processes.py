"""Run each runner in a process of its own, with a warm-up."""

from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, DataLoader


def main():
    runners = [OnnxrtRunner(SessionFromOnnx("conv.onnx")), OnnxrtRunner(SessionFromOnnx("conv_copy.onnx"))]
    results = Comparator.run(
        runners, DataLoader(iterations=2), warm_up=2, use_subprocess=True, subprocess_timeout=60, streaming=False
    )
    print([len(iterations) for _, iterations in results], bool(Comparator.compare_accuracy(results)))


if __name__ == "__main__":
    main()
