"""JAX keeps the contract of runners."""

from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="needs JAX: make test-jax")
from jax import export  # noqa: E402
from jax import numpy as jnp  # noqa: E402

from polycmp.testing import RunnerContract  # noqa: E402
from polycmp_jax import JaxFromFile, JaxRunner  # noqa: E402


class TestJaxRunner(RunnerContract):
    capabilities = frozenset({"dynamic_shapes", "broken_model"})

    @pytest.fixture(autouse=True)
    def _made(self, tmp_path):
        self.path = tmp_path / "net.jax"
        (rows,) = export.symbolic_shape("rows")
        example = jax.ShapeDtypeStruct((rows, 3), jnp.float32)
        function = jax.jit(lambda x, y: (x * 2 + y, x.sum(1), x * 1))
        self.path.write_bytes(export.export(function)(example, example).serialize())

    def load(self):
        return JaxFromFile(self.path)()

    def make_runner(self, load):
        return JaxRunner(load, name="jax")

    def _feed(self, seed, rows):
        random = np.random.default_rng(seed)
        return {f"input_{place}": random.random((rows, 3), np.float32) for place in range(2)}

    def feeds(self):
        return [self._feed(seed, 2) for seed in range(2)]

    def other_shapes(self):
        return self._feed(3, 5)

    def load_broken(self):
        self.path.write_bytes(b"no program at all, whatever its suffix says of it")
        return JaxFromFile(self.path)()

    def expected(self, feed):
        x, y = feed["input_0"], feed["input_1"]
        return {"output_0": x * 2 + y, "output_1": x.sum(1), "output_2": x * 1}
