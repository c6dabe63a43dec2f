"""Contributions of this plugin, described without importing anything heavy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polycmp.spec import LoaderSpec, RunnerSpec, hookimpl, opt


@dataclass(frozen=True)
class Options:
    """Options of the backend `jax`."""

    script: str | None = opt(
        None,
        help="Run the function that this file provides, with the inputs and names of the ONNX model; NAME is by "
        "default load_model. May also be an exported program.",
        metavar="FILE.py[:NAME]",
    )
    device: str = opt("cpu", help="Platform by JAX's name: cpu, gpu, tpu.", metavar="NAME")
    jit: bool = opt(True, help="Compile a function as a whole; otherwise each operation runs alone.")
    precision: str = opt(
        "default",
        help="Precision of products of matrices, as jax.default_matmul_precision; an exported program has its own.",
        choices=("default", "high", "highest", "bfloat16", "tensorfloat32", "float32"),
    )
    x64: bool = opt(False, help="Let a function calculate in 64 bits, as jax_enable_x64; an exported program says it.")
    compiler_options: Mapping[str, str] = opt(
        {}, help="Options of XLA: xla_cpu_enable_fast_math:true.", metavar="NAME:VALUE"
    )


@hookimpl
def polycmp_runners() -> Iterator[RunnerSpec]:
    """Describe the backend `jax`."""
    yield RunnerSpec(
        name="jax",
        summary="JAX: exported programs and functions, compiled by XLA",
        factory="polycmp_jax.runner:make_runner",
        options=Options,
        accepts=("jax", "onnx"),
        needs=("jax",),
        tools="polycmp_jax.tools:JaxTools",
    )


@hookimpl
def polycmp_loaders() -> Iterator[LoaderSpec]:
    """Describe JAX's files. Scripts are read with `--model-type jax`: other packages read .py files too."""
    yield LoaderSpec(
        name="jax",
        summary="JAX: programs of jax.export, and scripts with --model-type jax",
        factory="polycmp_jax.model:make_loader",
        suffixes=(".jax", ".jax_export", ".stablehlo"),
        produces="jax",
        tools="polycmp_jax.tools:JaxLoaderTools",
    )
