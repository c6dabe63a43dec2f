"""Run one model with TensorRT and with ONNX Runtime, and compare what they say."""

from models import identity

from polycmp.comparator import Comparator, CompareFunc
from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx
from polycmp_trt import EngineFromNetwork, NetworkFromOnnxPath, TrtRunner

path = identity()
runners = [TrtRunner(EngineFromNetwork(NetworkFromOnnxPath(path))), OnnxrtRunner(SessionFromOnnx(path))]
results = Comparator.run(runners)
assert bool(Comparator.compare_accuracy(results, compare_func=CompareFunc.simple(atol=1e-8)))
results.save("inference_results.json")
print("equal")
