"""Programs that build and run TensorRT engines, in the calls of diffusion pipelines and exporters, unchanged."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(find_spec("tensorrt") is None, reason="needs TensorRT and a CUDA device: make test-gpu"),
]

ENGINE = '''
"""An engine class as diffusion pipelines have it, with arrays of Polygraphy's where they have PyTorch's."""
import os
from collections import OrderedDict

import numpy as np
import tensorrt as trt
from polygraphy import cuda
from polygraphy.backend.common import bytes_from_path
from polygraphy.backend.trt import (
    CreateConfig,
    Profile,
    engine_from_bytes,
    engine_from_network,
    network_from_onnx_path,
    save_engine,
)
from polygraphy.backend.trt.util import get_all_tensors
from polygraphy.logger import G_LOGGER

G_LOGGER.module_severity = G_LOGGER.ERROR


class Engine:
    def __init__(self, engine_path):
        self.engine_path = engine_path
        self.buffers = OrderedDict()

    def build(self, onnx_path, fp16, input_profile):
        p = Profile()
        for name, dims in input_profile.items():
            assert len(dims) == 3
            p.add(name, min=dims[0], opt=dims[1], max=dims[2])
        network = network_from_onnx_path(onnx_path)
        print(sorted(get_all_tensors(network[1])))
        limits = {trt.MemoryPoolType.WORKSPACE: 1 << 28}
        config = CreateConfig(fp16=fp16, refittable=False, profiles=[p], memory_pool_limits=limits)
        engine = engine_from_network(network, config=config, save_timing_cache="timing.cache")
        save_engine(engine, path=self.engine_path)

    def activate(self):
        self.engine = engine_from_bytes(bytes_from_path(self.engine_path))
        self.context = self.engine.create_execution_context()

    def allocate_buffers(self, shape_dict):
        for index in range(self.engine.num_io_tensors):
            name = self.engine.get_tensor_name(index)
            shape = shape_dict.get(name, tuple(self.engine.get_tensor_shape(name)))
            if self.engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT:
                self.context.set_input_shape(name, shape)
            dtype = trt.nptype(self.engine.get_tensor_dtype(name))
            self.buffers[name] = cuda.DeviceArray(shape=shape, dtype=dtype)

    def infer(self, feed_dict, stream):
        for name, array in feed_dict.items():
            self.buffers[name].copy_from(array, stream)
        for name, buffer in self.buffers.items():
            self.context.set_tensor_address(name, buffer.ptr)
        if not self.context.execute_async_v3(stream.ptr):
            raise ValueError("inference failed")
        return self.buffers


stream = cuda.Stream()
unet = Engine(os.path.join("engines", "unet.plan"))
unet.build("dynamic.onnx", True, {"x": [(1, 3), (2, 3), (4, 3)]})
unet.activate()
unet.allocate_buffers({"x": (2, 3), "y": (2, 3)})
outputs = unet.infer({"x": np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32)}, stream)
result = np.empty((2, 3), dtype=np.float32)
outputs["y"].copy_to(result, stream)
stream.synchronize()
print(result.tolist(), outputs["y"].nbytes, os.path.exists("timing.cache"))
for buffer in unet.buffers.values():
    buffer.free()
stream.free()
'''

COMPARE = '''
"""Compare TensorRT with ONNX Runtime, with another tensor as output, and read an output on the device."""
import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.backend.trt import (
    CreateConfig,
    EngineFromNetwork,
    ModifyNetworkOutputs,
    NetworkFromOnnxPath,
    Profile,
    SaveEngine,
    TrtRunner,
)
from polygraphy.comparator import Comparator, CompareFunc, RunResults
from polygraphy.cuda import DeviceView
from polygraphy.logger import G_LOGGER

G_LOGGER.severity = G_LOGGER.ERROR
profiles = [Profile().add("x", min=(1, 3), opt=(2, 3), max=(4, 3))]
network = ModifyNetworkOutputs(NetworkFromOnnxPath("dynamic.onnx"), outputs=["t", "y"])
build_engine = SaveEngine(EngineFromNetwork(network, config=CreateConfig(profiles=profiles)), path="model.engine")
data = [{"x": np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)} for rows in (1, 4)]
runners = [TrtRunner(build_engine), OnnxrtRunner(SessionFromOnnx("dynamic.onnx"))]
results = Comparator.run(runners, data_loader=data)
print([sorted(iteration) for iteration in results[0][1]], results[0][1][1]["y"].shape)
own = RunResults()
for name, iterations in results:
    own.add([{"y": iteration["y"]} for iteration in iterations], runner_name=name)
print(bool(Comparator.compare_accuracy(own, compare_func=CompareFunc.simple(atol=1e-5))))
with TrtRunner(build_engine) as runner:
    made = runner.infer(data[1], copy_outputs_to_host=False)
    print(isinstance(made["y"], DeviceView), made["y"].numpy()[0].tolist())
'''


def run(folder, code, *words):
    """Return what a program prints with the model `y = 2x + 1`, `t = 2x`."""
    from onnx import TensorProto, helper, numpy_helper, save

    nodes = [helper.make_node("Mul", ["x", "two"], ["t"]), helper.make_node("Add", ["t", "one"], ["y"])]
    values = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3])] for name in "xy"]
    weights = [numpy_helper.from_array(np.float32([value]), name) for name, value in (("two", 2), ("one", 1))]
    graph = helper.make_graph(nodes, "affine", *values, weights)
    save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8),
        str(folder / "dynamic.onnx"),
    )
    (folder / "app.py").write_text(code)
    command = [sys.executable, "-m", "polycmp_polygraphy", *words, "app.py"]
    done = subprocess.run(
        command, cwd=folder, env=dict(os.environ), capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if not line.startswith(("[", "    ", "\x1b")) or line[1] in "['"]


@pytest.mark.parametrize("code", [ENGINE, COMPARE], ids=["engine", "compare"])
def test_a_program_runs_unchanged(tmp_path, code):
    printed = run(tmp_path, code)
    if code == ENGINE:
        assert printed[-1] == "[[3.0, 5.0, 7.0], [9.0, 11.0, 13.0]] 24 True"
    else:
        assert printed == ["[['t', 'y'], ['t', 'y']] (4, 3)", "True", "True [1.0, 3.0, 5.0]"]


@pytest.mark.skipif(find_spec("polygraphy") is None, reason="Polygraphy is not installed beside")
@pytest.mark.parametrize("code", [ENGINE, COMPARE], ids=["engine", "compare"])
def test_the_real_tool_prints_the_same(tmp_path, code):
    for folder in ("ours", "theirs"):
        (tmp_path / folder).mkdir()
    theirs = [line for line in run(tmp_path / "theirs", code, "--theirs") if not line.startswith("Warning: ")]
    assert run(tmp_path / "ours", code) == theirs  # it warns of what its next release no longer has
