"""Clean up an exported graph as exporters of diffusion models do.

Found in: NVIDIA/TensorRT demo/Diffusion, and many that came from it
"""

import onnx
import onnx_graphsurgeon as gs
from onnx import shape_inference
from polygraphy.backend.onnx.loader import fold_constants


class Optimizer:
    def __init__(self, onnx_graph):
        self.graph = gs.import_onnx(onnx_graph)

    def info(self, prefix):
        print(f"{prefix}: {len(self.graph.nodes)} nodes, {len(self.graph.inputs)} in, {len(self.graph.outputs)} out")

    def cleanup(self):
        self.graph.cleanup().toposort()

    def select_outputs(self, keep, names=None):
        self.graph.outputs = [self.graph.outputs[o] for o in keep]
        for i, name in enumerate(names or []):
            self.graph.outputs[i].name = name

    def fold_constants(self):
        self.graph = gs.import_onnx(fold_constants(gs.export_onnx(self.graph), allow_onnxruntime_shape_inference=True))

    def infer_shapes(self):
        onnx_graph = gs.export_onnx(self.graph)
        if onnx_graph.ByteSize() > 2147483648:
            raise TypeError("the model is larger than 2 GB")
        self.graph = gs.import_onnx(shape_inference.infer_shapes(onnx_graph))


opt = Optimizer(onnx.load("foldable.onnx"))
opt.info("original")
opt.cleanup()
opt.fold_constants()
opt.info("folded")
opt.infer_shapes()
opt.select_outputs([0], names=["text_embeddings"])
opt.cleanup()
opt.info("finished")
onnx.save(gs.export_onnx(opt.graph), "optimized.onnx")
print([output.name for output in onnx.load("optimized.onnx").graph.output])
