"""Switch internal checks on before anything else is imported, and compare two models.

Found in: a script that compares a model with the one that was prepared for TensorRT
"""

from polygraphy import constants as POLYGRAPHY_CONST

POLYGRAPHY_CONST.INTERNAL_CORRECTNESS_CHECKS = True
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator


def main(onnx_model, prepared_onnx_model):
    runners = [OnnxrtRunner(SessionFromOnnx(onnx_model)), OnnxrtRunner(SessionFromOnnx(prepared_onnx_model))]
    run_results = Comparator.run(runners)
    accuracy = Comparator.compare_accuracy(run_results)
    run_results.save("inference_results.json")
    return bool(accuracy)


print(main("conv.onnx", "conv_copy.onnx"), main("conv.onnx", "conv_off.onnx"))
