"""Contributions of this plugin, described without importing anything heavy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polycmp.spec import LoaderSpec, RunnerSpec, RunnerTools, Switch, check_at_least_one, hookimpl, opt

if TYPE_CHECKING:
    from polycmp.spec import ModelHandle

#: Types that OpenVINO can be told to calculate in, as users may write them.
_PRECISIONS = {
    "float32": "float32", "f32": "float32", "fp32": "float32",
    "float16": "float16", "f16": "float16", "fp16": "float16",
    "bfloat16": "bfloat16", "bf16": "bfloat16",
}  # fmt: skip


#: Optimizations of OpenVINO's CPU that may change what a model computes, and the property that leaves each out.
OPTIMIZATIONS: Mapping[str, tuple[str, str]] = {
    "snippets": ("SNIPPETS_MODE", "DISABLE"),
    "low_precision": ("LP_TRANSFORMS_MODE", "NO"),
    "dynamic_quantization": ("DYNAMIC_QUANTIZATION_GROUP_SIZE", "0"),
    "kv_cache_compression": ("KV_CACHE_PRECISION", "f32"),
}


#: Properties that choose how a model is computed, and can neither name a file nor load anything.
HARMLESS = frozenset(
    [
        "ACTIVATIONS_SCALE_FACTOR",
        "CPU_DENORMALS_OPTIMIZATION",
        "CPU_SPARSE_WEIGHTS_DECOMPRESSION_RATE",
        "DYNAMIC_QUANTIZATION_GROUP_SIZE",
        "ENABLE_CPU_PINNING",
        "ENABLE_CPU_RESERVATION",
        "ENABLE_HYPER_THREADING",
        "EXECUTION_MODE_HINT",
        "INFERENCE_NUM_THREADS",
        "INFERENCE_PRECISION_HINT",
        "KEY_CACHE_GROUP_SIZE",
        "KEY_CACHE_PRECISION",
        "KV_CACHE_PRECISION",
        "LP_TRANSFORMS_MODE",
        "MODEL_DISTRIBUTION_POLICY",
        "NUM_STREAMS",
        "PERFORMANCE_HINT",
        "PERFORMANCE_HINT_NUM_REQUESTS",
        "SCHEDULING_CORE_TYPE",
        "SNIPPETS_MODE",
        "VALUE_CACHE_GROUP_SIZE",
        "VALUE_CACHE_PRECISION",
    ]
)


def _names_more(text: str) -> bool:
    """Return whether a property, `KEY:VALUE`, may name files or libraries."""
    return text.partition(":")[0] not in HARMLESS


def _known_optimization(text: str) -> str:
    if text not in OPTIMIZATIONS:
        raise ValueError(f"{text!r} cannot be left out; known: {', '.join(OPTIMIZATIONS)}")
    return text


def parse_precision(text: str) -> str:
    """Return the name of a type by any of its spellings; empty for none.

    Raises:
        ValueError: OpenVINO cannot be told to calculate in it.
    """
    if text and text.lower() not in _PRECISIONS:
        raise ValueError(f"{text!r} is not a type to calculate in; known: float32, float16, bfloat16")
    return _PRECISIONS.get(text.lower(), "")


@dataclass(frozen=True)
class Options:
    """Options of the backend `openvino`."""

    device: str = opt(
        "CPU",
        help="Device by OpenVINO's name: CPU, GPU, GPU.1, NPU, or several as in AUTO:GPU,CPU and HETERO:GPU,CPU.",
        metavar="NAME",
    )
    precision: str = opt(
        "",
        help="Compute real numbers in this type: float32, float16 or bfloat16; by default in the model's own.",
        metavar="TYPE",
        parse=parse_precision,
    )
    own_precision: bool = opt(
        False,
        help="Let OpenVINO choose the type, as it does by default outside polycmp: bfloat16 on CPUs with AMX, "
        "float16 on GPUs.",
    )
    disable: tuple[str, ...] = opt(
        (),
        help="CPU optimizations to disable: snippets (operators joined into generated kernels), low_precision "
        "(integer kernels for quantized models), dynamic_quantization, kv_cache_compression.",
        metavar="NAME",
        parse=_known_optimization,
    )
    hint: str = opt(
        "",
        help="What to optimize for: latency, throughput, or cumulative_throughput with several devices.",
        choices=("", "latency", "throughput", "cumulative_throughput"),
    )
    threads: int | None = opt(
        None, help="Threads per inference; by default all cores that this process may use.", metavar="N"
    )
    streams: int | None = opt(None, help="Inferences that the device may run at the same time.", metavar="N")
    cache_dir: str | None = opt(
        None, help="Cache compiled models in this folder.", metavar="DIR", writes=True, resumes="cache_dir"
    )
    config: Mapping[str, str] = opt(
        {},
        help="Properties by OpenVINO's names, for example ENABLE_CPU_PINNING:NO.",
        metavar="KEY:VALUE",
        executes=_names_more,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "precision", parse_precision(self.precision))
        if not self.device.strip():
            raise ValueError("a device is needed, for example CPU")
        if self.precision and self.own_precision:
            raise ValueError(f"precision={self.precision} and own_precision exclude each other")
        for name in self.disable:
            _known_optimization(name)
        check_at_least_one(self, "threads", "streams")
        if "" in self.config:
            raise ValueError(f"a property is KEY:VALUE; {self.config['']!r} has no key")


@hookimpl
def polycmp_runners() -> Iterator[RunnerSpec]:
    """Describe the backend `openvino`."""
    yield RunnerSpec(
        name="openvino",
        summary="OpenVINO",
        factory="polycmp_openvino.runner:make_runner",
        options=Options,
        accepts=("openvino-ir", "onnx"),
        needs=("openvino",),
        tools="polycmp_openvino.plugin:OpenvinoTools",
    )


class OpenvinoTools(RunnerTools):
    """A runtime that may choose a smaller type by itself, and whose optimisations can be switched off."""

    narrows = (("precision", ""), ("own_precision", "bfloat16"))
    threads = "threads"
    aliases = ("ov",)
    concurrent = True
    exclusive = ("device", "hint", "threads", "streams", "config")
    switches = (
        Switch("disable", tuple(OPTIMIZATIONS)),
        Switch("own_precision", (False,)),
        Switch("precision", ("float32",)),
    )

    def precision(self, model: ModelHandle, options: Any) -> str:
        """Return the coarsest type that it calculates in by its options, or that a file's weights were rounded to."""
        from polycmp_openvino.halves import holds_half_weights

        asked = super().precision(model, options)
        is_coarser = asked not in {"", "float32"} or model.kind != "openvino-ir"
        return asked if is_coarser or not holds_half_weights(model.path) else "float16"


@hookimpl
def polycmp_loaders() -> Iterator[LoaderSpec]:
    """Describe OpenVINO's own files, which can also be made from ONNX models."""
    yield LoaderSpec(
        name="openvino_ir",
        summary="OpenVINO IR: an .xml file with its .bin",
        factory="polycmp_openvino.ir:make_loader",
        suffixes=(".xml",),
        consumes=("onnx",),
        produces="openvino-ir",
        tools="polycmp_openvino.tools:IrTools",
    )
