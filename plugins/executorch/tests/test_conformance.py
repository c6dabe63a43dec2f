"""ExecuTorch keeps the contract of runners."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("executorch", reason="needs ExecuTorch: make test-executorch")

import torch
from executorch.exir import to_edge_transform_and_lower

from polycmp.testing import RunnerContract
from polycmp_executorch import ExecuTorchRunner, PteFromFile


class _Net(torch.nn.Module):
    def forward(self, x, y):
        return x * 2 + y, x.sum(1), x * 1


@pytest.fixture(scope="session")
def net(tmp_path_factory):
    path = tmp_path_factory.mktemp("pte") / "net.pte"
    sizes = {0: torch.export.Dim("rows", min=1, max=8)}
    example = (torch.ones(2, 3), torch.ones(2, 3))
    program = torch.export.export(_Net(), example, dynamic_shapes=(sizes, sizes))
    path.write_bytes(to_edge_transform_and_lower(program).to_executorch().buffer)
    return path


class TestExecuTorchRunner(RunnerContract):
    capabilities = frozenset({"dynamic_shapes", "broken_model", "torch"})

    @pytest.fixture(autouse=True)
    def _made(self, net, tmp_path):
        self.path, self.folder = net, tmp_path

    def load(self):
        return PteFromFile(self.path)()

    def make_runner(self, load):
        return ExecuTorchRunner(load, name="executorch")

    def _feed(self, seed, rows):
        random = np.random.default_rng(seed)
        return {f"input_{place}": random.random((rows, 3), np.float32) for place in range(2)}

    def feeds(self):
        return [self._feed(seed, 2) for seed in range(2)]

    def other_shapes(self):
        return self._feed(3, 5)

    def load_broken(self):
        path = self.folder / "broken.pte"
        path.write_bytes(b"no program at all")
        return PteFromFile(path)()

    def expected(self, feed):
        x, y = feed["input_0"], feed["input_1"]
        return {"output_0": x * 2 + y, "output_1": x.sum(1), "output_2": x * 1}
