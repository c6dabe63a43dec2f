"""Contributions of this plugin, described without importing anything heavy."""

from __future__ import annotations

from collections.abc import Iterator

from polycmp.spec import FormatSpec, LoaderSpec, RunnerSpec, hookimpl
from polycmp_torch.options import Options


@hookimpl
def polycmp_runners() -> Iterator[RunnerSpec]:
    """Describe the backend `torch`."""
    yield RunnerSpec(
        name="torch",
        summary="PyTorch",
        factory="polycmp_torch.runner:make_runner",
        options=Options,
        accepts=("torch", "onnx"),
        needs=("torch",),
        tools="polycmp_torch.tools:TorchRunnerTools",
    )


@hookimpl
def polycmp_formats() -> Iterator[FormatSpec]:
    """Describe files of tensors."""
    for suffix in (".pt", ".pth"):
        yield FormatSpec(suffix, "Tensors saved by torch.save", reader="polycmp_torch.saved:read", needs=("torch",))


@hookimpl
def polycmp_loaders() -> Iterator[LoaderSpec]:
    """Describe PyTorch's own files. Scripts are read with `--model-type torch`: other packages read .py files too."""
    yield LoaderSpec(
        name="torch",
        summary="PyTorch: exported programs, TorchScript, and scripts with --model-type torch",
        factory="polycmp_torch.model:make_loader",
        suffixes=(".pt2", ".pt", ".ts", ".torchscript", ".jit"),
        produces="torch",
        tools="polycmp_torch.tools:TorchLoaderTools",
    )
