"""Contributions of this package. Light: only `polycmp.spec` is imported here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from polycmp.spec import CommandSpec, LoaderSpec, ObserverSpec, RunnerSpec, RunnerTools, hookimpl, opt


@dataclass(frozen=True)
class TransformersOptions:
    """Options of the backend `transformers`."""

    dtype: str = opt(
        "float32", help="Type of the weights and of what is calculated.", choices=("float32", "float16", "bfloat16")
    )
    device: str = opt("cpu", help="Device of PyTorch.", metavar="NAME")


@dataclass(frozen=True)
class OpenvinoOptions:
    """Options of the backend `openvino_genai`."""

    device: str = opt("CPU", help="Device of OpenVINO.", metavar="NAME")
    own_precision: bool = opt(False, help="Let the device choose a coarser type, such as bfloat16 on many CPUs.")


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute `generate`."""
    yield CommandSpec(
        ("generate",),
        "Say whether one decoder writes worse than another, token by token.",
        "polycmp_generate.command:generate_command",
        purpose="compare",
    )


@hookimpl
def polycmp_loaders() -> Iterable[LoaderSpec]:
    """Contribute folders that hold a decoder."""
    yield LoaderSpec(
        name="decoder",
        summary="Folders with a decoder of transformers, ONNX Runtime GenAI or OpenVINO GenAI",
        factory="polycmp_generate.folders:make_loader",
        suffixes=("/genai_config.json", "/openvino_model.xml", "/config.json"),
    )


@hookimpl
def polycmp_runners() -> Iterable[RunnerSpec]:
    """Contribute the libraries that run such folders."""
    yield RunnerSpec(
        name="transformers",
        summary="Hugging Face transformers: a folder with a decoder",
        factory="polycmp_generate.folders:make_transformers",
        options=TransformersOptions,
        accepts=("decoder",),
        needs=("transformers", "torch"),
        tools="polycmp_generate.plugin:TransformersTools",
    )
    yield RunnerSpec(
        name="genai",
        summary="ONNX Runtime GenAI: a folder with a decoder",
        factory="polycmp_generate.folders:make_genai",
        accepts=("decoder",),
        needs=("onnxruntime_genai",),
        tools="polycmp_generate.plugin:GenaiTools",
    )
    yield RunnerSpec(
        name="openvino_genai",
        summary="Folders of OpenVINO GenAI, run by OpenVINO: the pipelines give no logits",
        factory="polycmp_generate.folders:make_openvino",
        options=OpenvinoOptions,
        accepts=("decoder",),
        needs=("openvino",),
        tools="polycmp_generate.plugin:OpenvinoTools",
    )


@hookimpl
def polycmp_run_observers() -> Iterable[ObserverSpec]:
    """Contribute the first round and layer in which two dumps of a decoder part."""
    yield ObserverSpec("rounds", "First round and layer that differ, in dumps", "polycmp_generate.dumps:watch_rounds")


class WholeModels(RunnerTools):
    """A library that runs whole models."""

    runs_parts = False


class GenaiTools(WholeModels):
    """The same, under the name that people know."""

    aliases = ("onnxruntime_genai",)


class OpenvinoTools(WholeModels):
    """The same, in the type that the device prefers if asked."""

    narrows = (("own_precision", "bfloat16"),)


class TransformersTools(WholeModels):
    """The same, in a coarser type if asked."""

    aliases = ("huggingface",)
    narrows = (("dtype", ""),)
