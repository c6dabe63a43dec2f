"""The conformance kit for authors of plugins: pytest classes that hold a plugin to its contract.

Nothing here is active by itself. Subclass a contract in a test module, write its factories, and declare what your
plugin can do beyond the minimum::

    from polycmp.testing import RunnerContract, notyet

    class TestMyRunner(RunnerContract):
        capabilities = {"dynamic_shapes"}
        expected_failures = {"test_inputs_may_be_strided": notyet("my_runtime 1.2 copies wrongly")}

        def load(self):
            return my_model

        def make_runner(self, load):
            return MyRunner(load, name="mine")

        def feeds(self):
            return [{"x": first}, {"x": second}]

        def expected(self, feed):
            return {"y": 2 * feed["x"]}

`polycmp.testing.nodes` runs a backend over the one-node models of the `onnx` package.
"""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    *(f"polycmp.testing.{name}" for name in ("runners", "loaders", "data_loaders", "compare_funcs", "nodes"))
)

from polycmp.testing.compare_funcs import CompareFuncContract  # noqa: E402
from polycmp.testing.contract import Contract, needs  # noqa: E402
from polycmp.testing.data_loaders import DataLoaderContract  # noqa: E402
from polycmp.testing.loaders import LoaderContract  # noqa: E402
from polycmp.testing.marks import Expected, never, notimpl, notyet  # noqa: E402
from polycmp.testing.runners import RunnerContract  # noqa: E402

__all__ = [
    "CompareFuncContract",
    "Contract",
    "DataLoaderContract",
    "Expected",
    "LoaderContract",
    "RunnerContract",
    "needs",
    "never",
    "notimpl",
    "notyet",
]
