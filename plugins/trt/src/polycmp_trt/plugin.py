"""Contributions of this plugin, described without importing anything heavy."""

from __future__ import annotations

from collections.abc import Iterator

from polycmp.spec import CommandSpec, LoaderSpec, RunnerSpec, RunnerTools, Switch, hookimpl
from polycmp_trt.options import Options

__all__ = ["Options"]


@hookimpl
def polycmp_runners() -> Iterator[RunnerSpec]:
    """Describe the backend `trt`."""
    yield RunnerSpec(
        name="trt",
        summary="TensorRT",
        factory="polycmp_trt.factory:make_runner",
        options=Options,
        accepts=("engine", "trt-network", "onnx"),
        needs=("tensorrt", "cuda.bindings|pycuda"),
        tools="polycmp_trt.plugin:TrtTools",
    )


class TrtTools(RunnerTools):
    """A compiler that may use smaller types, whose tactics can be left out, and that tells what it fused."""

    aliases = ("tensorrt",)
    compiles = True
    rewritten = "save_layers"
    narrows = (
        ("tf32", "tf32"),
        ("fp16", "float16"),
        ("bf16", "bfloat16"),
        ("int8", "int8"),
        ("fp8", "float8_e4m3fn"),
    )
    switches = (
        Switch("builder_optimization_level", (2, 1, 0)),
        Switch("tactic_sources", ((),)),
        *(Switch(field, (False,)) for field in ("fp8", "int8", "bf16", "fp16", "tf32")),
    )


@hookimpl
def polycmp_loaders() -> Iterator[LoaderSpec]:
    """Describe engines, networks, and networks exported as ONNX for viewers.

    All take the options of the backend `trt`, so that what `convert` writes is what `run` runs.
    """
    yield LoaderSpec(
        name="engine",
        summary="TensorRT engine",
        factory="polycmp_trt.factory:make_engine",
        suffixes=(".engine", ".plan"),
        consumes=("onnx", "trt-network"),
        produces="engine",
        tools="polycmp_trt.tools:EngineTools",
    )
    yield LoaderSpec(
        name="trt_network",
        summary="TensorRT network, from a script or an ONNX model",
        factory="polycmp_trt.factory:make_network",
        suffixes=(".py",),
        consumes=("onnx",),
        produces="trt-network",
        tools="polycmp_trt.tools:NetworkTools",
    )
    yield LoaderSpec(
        name="onnx_like_trt_network",
        summary="TensorRT network written as an ONNX file for viewers",
        factory="polycmp_trt.factory:make_onnx_like",
        consumes=("onnx", "trt-network"),
        produces="onnx-like-trt-network",
        tools="polycmp_trt.tools:OnnxLikeTools",
    )


@hookimpl
def polycmp_commands() -> Iterator[CommandSpec]:
    """Describe the commands that build engines, about tactics and what TensorRT parses, and scripts to begin with."""
    yield CommandSpec(
        ("build",),
        "Build TensorRT engines without running them.",
        "polycmp_trt.build_command:build_command",
        purpose="files",
    )
    yield CommandSpec(("debug", "build"), "Build an engine again and again.", "polycmp_trt.debug_build:build_command")
    yield CommandSpec(("inspect", "tactics"), "Show a tactic replay file.", "polycmp_trt.show.commands:tactics")
    yield CommandSpec(
        ("inspect", "diff-tactics"),
        "Show tactics that only bad engines use, from sorted tactic replay files.",
        "polycmp_trt.show.commands:diff_tactics",
    )
    yield CommandSpec(
        ("inspect", "capability"),
        "Show which parts of a model TensorRT can parse.",
        "polycmp_trt.show.commands:capability",
    )
    yield CommandSpec(
        ("template", "trt-network"),
        "Write a script that defines a TensorRT network.",
        "polycmp_trt.templates:trt_network",
        "Write scripts to begin with.",
    )
    yield CommandSpec(
        ("template", "trt-config"),
        "Write a script that makes a TensorRT builder configuration.",
        "polycmp_trt.templates:trt_config",
    )
