"""Compare the CPU references of plugins with ONNX Runtime."""

from polygraphy.backend.onnx import GsFromOnnx, OnnxFromPath
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.backend.pluginref import PluginRefRunner
from polygraphy.comparator import Comparator

runners = [
    PluginRefRunner(GsFromOnnx(OnnxFromPath("identity.onnx"))),
    OnnxrtRunner(SessionFromOnnx("identity.onnx")),
]
print(bool(Comparator.compare_accuracy(Comparator.run(runners))))
