"""Register a reference for a custom operator, and compare two graphs by it.

Found in: NVIDIA/trt-samples-for-hackathon-cn cookbook/07-Tool/Polygraphy/More/16-PluginReference
"""

import numpy as np
import onnx_graphsurgeon as gs
from polygraphy.backend.pluginref import PluginRefRunner
from polygraphy.backend.pluginref.references import OP_REGISTRY, register
from polygraphy.comparator import Comparator, CompareFunc
from polygraphy.logger import G_LOGGER

G_LOGGER.module_severity = G_LOGGER.ERROR


def graph_of(scalar):
    x, y = (gs.Variable(name, np.float32, (4,)) for name in "xy")
    node = gs.Node("AddScalar", attrs={"scalar": scalar}, inputs=[x], outputs=[y])
    return gs.Graph(nodes=[node], inputs=[x], outputs=[y], opset=17)


try:
    with PluginRefRunner(graph_of(1.0)) as runner:
        runner.infer({"x": np.arange(4, dtype=np.float32)})
except Exception:
    print("unregistered")


@register("AddScalar")
def run_add_scalar(attrs, x):
    return [x + attrs["scalar"]]


print("AddScalar" in OP_REGISTRY, "Identity" in OP_REGISTRY)
feed = {"x": np.arange(4, dtype=np.float32)}
results = Comparator.run(
    [PluginRefRunner(graph_of(1.0), name="a"), PluginRefRunner(graph_of(5.0), name="b")], data_loader=[feed]
)
print(bool(Comparator.compare_accuracy(results, compare_func=CompareFunc.simple(atol=1e-6))))
print([next(iter(iterations[0].values())).tolist() for iterations in results.values()])
