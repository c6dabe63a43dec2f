"""What a fault is told with, and the five lines that show it without polycmp."""

from __future__ import annotations

from dataclasses import dataclass

#: The version of the format that brought 8-bit floats comes with this version of the operators.
_FLOAT8 = 19
#: What runs `model` on `feeds`, by runtime.
RUNTIMES = {
    "onnx": ("from onnx.reference import ReferenceEvaluator", "ReferenceEvaluator(model).run(None, feeds)[0]"),
    "onnxruntime": (
        "import onnxruntime",
        "onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)[0]",
    ),
    "openvino": (
        "from openvino import Core, compile_model",
        "compile_model(Core().read_model(model.SerializeToString()), 'CPU', "
        "{'INFERENCE_PRECISION_HINT': 'f32'})(feeds)[0]",
    ),
}
#: The same by product: tools that rewrite a file are asked what ONNX Runtime makes of it then.
RUNS = {
    **RUNTIMES,
    "onnxslim": (
        "import onnxruntime, onnxslim",
        "onnxruntime.InferenceSession(onnxslim.slim(model).SerializeToString()).run(None, feeds)[0]",
    ),
    "onnxoptimizer": (
        "import onnxoptimizer, onnxruntime",
        "onnxruntime.InferenceSession(onnxoptimizer.optimize(model, onnxoptimizer.get_fuse_and_elimination_passes())"
        ".SerializeToString()).run(None, feeds)[0]",
    ),
    "onnxruntime, transformers": (
        "import onnx, onnxruntime\nfrom onnxruntime.transformers.optimizer import optimize_model",
        "(onnx.save(model, 'm.onnx'), onnxruntime.InferenceSession(optimize_model('m.onnx', 'bert', only_onnxruntime="
        "False, opt_level=0).model.SerializeToString()).run(None, feeds)[0])[1]",
    ),
    "onnxruntime, quantize_dynamic": (
        "import onnxruntime\nfrom onnxruntime.quantization import quantize_dynamic",
        "(quantize_dynamic(model, 'm.onnx', per_channel=True), onnxruntime.InferenceSession('m.onnx').run(None, "
        "feeds)[0])[1]",
    ),
    "onnxruntime, quantize_static": (
        "import onnxruntime\nfrom onnxruntime.quantization import CalibrationDataReader, quantize_static\n"
        "class Reader(CalibrationDataReader):\n    left = True\n    def get_next(self):\n"
        "        self.left, now = False, self.left\n        return feeds if now else None",
        "(quantize_static(model, 'm.onnx', Reader()), onnxruntime.InferenceSession('m.onnx').run(None, feeds)[0])[1]",
    ),
    "MNN": (
        "import _tools, onnx, MNN.expr as F, MNN.nn\n"
        "words = '-f ONNX --modelFile m.onnx --MNNModel m.mnn --bizCode x'.split()",
        "(onnx.save(model, 'm.onnx'), _tools.mnnconvert(['mnnconvert', *words]), MNN.nn.load_module_from_file('m.mnn', "
        "[*feeds], ['y']).onForward([F.const(v, list(v.shape), F.NCHW) for v in feeds.values()])[0].read())[-1]",
    ),
    "iree-base-compiler": (
        "import iree.runtime as rt, onnx.shape_inference as shapes\nfrom iree.compiler import compile_str\n"
        "from iree.compiler.extras import onnx_importer as importer\nfrom iree.compiler.ir import Context\n"
        "def compiled(model):\n    info = importer.ModelInfo(shapes.infer_shapes(model))\n"
        "    with Context() as context:\n"
        "        module = info.create_module(context=context)\n"
        "        importer.NodeImporter.define_function(info.main_graph, module.operation).import_all()\n"
        "        return compile_str(str(module), target_backends=['llvm-cpu'], input_type='onnx')",
        "rt.load_vm_flatbuffer(compiled(model), driver='local-sync').g(*feeds.values()).to_host()",
    ),
    "apache-tvm": (
        "import tvm\nfrom tvm import relax\nfrom tvm.relax.frontend.onnx import from_onnx",
        "relax.VirtualMachine(tvm.compile(from_onnx(model), target='llvm'), tvm.cpu())['main']"
        "(*map(tvm.runtime.tensor, feeds.values())).numpy()",
    ),
    "onnxruntime-qnn": (
        "import onnxruntime as ort, onnxruntime_qnn as qnn\n"
        "ort.register_execution_provider_library(qnn.get_ep_name(), qnn.get_library_path())\n"
        "devices = [device for device in ort.get_ep_devices() if device.ep_name == qnn.get_ep_name()]\n"
        "options, chip = ort.SessionOptions(), {'backend_type': 'htp', 'soc_model': '60'}\n"
        "options.add_provider_for_devices(devices, chip)",
        "ort.InferenceSession(model.SerializeToString(), options).run(None, feeds)[0]",
    ),
    "onnxscript": (
        "import onnxruntime, onnxscript.optimizer",
        "onnxruntime.InferenceSession(onnxscript.optimizer.optimize(model).SerializeToString()).run(None, feeds)[0]",
    ),
}


@dataclass(frozen=True)
class Fault:
    """A fault of a product.

    Attributes:
        name: What it is called here.
        product: The package that has it, one of `RUNS`.
        what: What the product does, in words.
        opset: Version of the operators.
        graph: The graph, as `onnx.parser` reads it.
        feeds: The inputs, as Python says them.
        expected: The right value of the first output, as Python says it; worked out by hand or with NumPy.
        source: The text of the standard, or the formula, that the right value follows from.
        learning: Version of the operators of ai.onnx.ml; 0 where there are none.
        shown: What is printed of a run, `{run}`.
        instead: What else agrees with the right value where no other product does; empty if one does.
    """

    name: str
    product: str
    what: str
    opset: int
    graph: str
    feeds: str
    expected: str
    source: str
    learning: int = 0
    shown: str = "{run}"
    instead: str = ""

    @property
    def products(self) -> tuple[str, ...]:
        """The runtimes that can run it, and the product itself."""
        return tuple(dict.fromkeys((*RUNTIMES, self.product)))

    def code(self, product: str = "") -> str:
        """Return the lines that show what a product computes, by default the one that has the fault."""
        imports, run = RUNS[product or self.product]
        sets = f'"" : {self.opset}' + (f', "ai.onnx.ml" : {self.learning}' if self.learning else "")
        head = f"<ir_version: {9 if self.opset >= _FLOAT8 else 8}, opset_import: [{sets}]>"
        return (
            f"import numpy as np, onnx.parser\n{imports}\n"
            f"model = onnx.parser.parse_model('''{head} {self.graph}''')\n"
            f"feeds = {self.feeds}\nprint({self.shown.format(run=run)})"
        )
