"""The runner keeps the promises of all runners, for the inputs that were dumped."""

from __future__ import annotations

import dumping_devices as devices
import numpy as np
import onnx
import pytest

from polycmp.errors import BackendError
from polycmp.model import Model
from polycmp.plugins import Registry
from polycmp.testing import RunnerContract
from polycmp_dump.dump import Dump
from polycmp_dump.dump_map import read_map
from polycmp_dump.graph import DumpGraph
from polycmp_dump.runner import DumpRunner


class TestDump(RunnerContract):
    """A dump of two iterations in float32, with channels last."""

    capabilities = {"failing_inference", "broken_model"}

    @pytest.fixture(autouse=True, scope="class")
    def dumped(self, request, tmp_path_factory):
        """Write the dump of a model once."""
        folder = tmp_path_factory.mktemp("contract")
        model = onnx.load(devices.resnet(str(folder / "model.onnx")))
        iterations = [devices.run_on_device(model, feed) for feed in devices.feeds_of(model, 2)]
        devices.write_raw(folder / "out", iterations)
        (folder / "dump.toml").write_text(devices.NHWC)
        request.cls.folder, request.cls.iterations = folder, iterations
        request.cls.registry = Registry.discover()

    def load(self):
        dump = Dump(read_map("", str(self.folder / "dump.toml")), Model(str(self.folder / "model.onnx"), self.registry))
        graph = DumpGraph(dump)
        return graph.mark(graph.outputs)()

    def load_broken(self):
        dump = Dump(read_map("", str(self.folder / "dump.toml")), Model(str(self.folder / "model.onnx"), self.registry))
        return DumpGraph(dump).mark(["not dumped"])()

    def make_runner(self, load):
        return DumpRunner(load, name="phone")

    def feeds(self):
        return [{"image": tensors["image"]} for tensors in self.iterations]

    def failing_feed(self):
        return {"image": np.zeros((1, 3, 16, 16), np.float32)}

    def expected(self, feed):
        (tensors,) = (item for item in self.iterations if np.array_equal(item["image"], feed["image"]))
        return {"logits": tensors["logits"]}

    def test_other_inputs_than_those_of_the_dump_are_an_error(self):
        with self.make_runner(self.load) as runner, pytest.raises(BackendError, match="fed other inputs than these"):
            runner.infer(self.failing_feed())
