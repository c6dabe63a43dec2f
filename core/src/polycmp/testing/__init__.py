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

A backend that accepts ONNX derives from `OnnxRunnerContract`, which has a model, feeds and what it must give, and
writes `make_runner`. `polycmp.testing.nodes` runs a backend over the one-node models of the `onnx` package.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from polycmp.spec import lazy_names

if TYPE_CHECKING:
    from polycmp.testing.compare_funcs import CompareFuncContract
    from polycmp.testing.contract import Contract, needs
    from polycmp.testing.data_loaders import DataLoaderContract
    from polycmp.testing.loaders import LoaderContract
    from polycmp.testing.marks import Expected, never, notimpl, notyet
    from polycmp.testing.observers import ObserverContract
    from polycmp.testing.onnx_runners import OnnxRunnerContract
    from polycmp.testing.reports import ReportContract
    from polycmp.testing.runners import RunnerContract

__all__ = [
    "CompareFuncContract",
    "Contract",
    "DataLoaderContract",
    "Expected",
    "LoaderContract",
    "ObserverContract",
    "OnnxRunnerContract",
    "ReportContract",
    "RunnerContract",
    "needs",
    "never",
    "notimpl",
    "notyet",
]


if sys.modules.get("pytest") is not None:
    sys.modules["pytest"].register_assert_rewrite(
        *(
            f"polycmp.testing.{name}"
            for name in (
                "runners",
                "onnx_runners",
                "loaders",
                "data_loaders",
                "compare_funcs",
                "observers",
                "reports",
                "nodes",
            )
        )
    )

# They are imported when asked for: commands that look for plugins import this package.
if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "compare_funcs": ["CompareFuncContract"],
            "contract": ["Contract", "needs"],
            "data_loaders": ["DataLoaderContract"],
            "loaders": ["LoaderContract"],
            "marks": ["Expected", "never", "notimpl", "notyet"],
            "observers": ["ObserverContract"],
            "onnx_runners": ["OnnxRunnerContract"],
            "reports": ["ReportContract"],
            "runners": ["RunnerContract"],
        },
    )
