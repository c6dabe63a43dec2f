"""Contributions of this plugin, described without importing anything heavy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polycmp.spec import LoaderSpec, RunnerSpec, hookimpl, opt


@dataclass(frozen=True)
class Options:
    """Options of the backend `executorch`."""

    program: str | None = opt(
        None,
        help="Run this .pte file, with the names of the model that it was exported from.",
        metavar="FILE",
    )
    delegate: str = opt(
        "none", help="Delegate of a PyTorch model that is exported for the run; a .pte file has its own.",
        choices=("none", "xnnpack"),
    )  # fmt: skip


@hookimpl
def polycmp_runners() -> Iterator[RunnerSpec]:
    """Describe the backend `executorch`."""
    yield RunnerSpec(
        name="executorch",
        summary="ExecuTorch, PyTorch's runtime for phones and small devices",
        factory="polycmp_executorch.runner:make_runner",
        options=Options,
        accepts=("executorch", "torch", "onnx"),
        needs=("executorch.runtime",),
        tools="polycmp_executorch.tools:ExecuTorchTools",
    )


@hookimpl
def polycmp_loaders() -> Iterator[LoaderSpec]:
    """Describe ExecuTorch's files, and how they are made of PyTorch's."""
    yield LoaderSpec(
        name="executorch",
        summary="ExecuTorch: .pte files, and exports of PyTorch's",
        factory="polycmp_executorch.model:make_loader",
        suffixes=(".pte",),
        consumes=("torch",),
        produces="executorch",
        tools="polycmp_executorch.tools:PteTools",
    )
