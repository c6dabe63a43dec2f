"""Contributions of this plugin, described without importing anything heavy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polycmp.spec import LoaderSpec, RunnerSpec, check_at_least_one, hookimpl, opt

_NO_TFTRT = "TensorFlow has no TensorRT in it since release 2.18: convert the model to ONNX and use -b trt"

#: Options of TensorFlow 1 that mean nothing in TensorFlow 2 -> what has replaced them.
REPLACED: Mapping[str, str] = {
    "gpu_memory_fraction": "TensorFlow 2 knows no fraction of a GPU's memory: allow_growth takes what is needed",
    "tftrt": _NO_TFTRT,
    "minimum_segment_size": _NO_TFTRT,
    "dynamic_op": _NO_TFTRT,
    "opset": "polycmp converts no TensorFlow model to ONNX: python -m tf2onnx.convert --opset N does, for -b onnxrt",
}


@dataclass(frozen=True)
class Options:
    """Options of the backend `tf`."""

    signature: str = opt(
        "serving_default", help="Signature of a SavedModel, or of a LiteRT model that has several.", metavar="NAME"
    )
    outputs: tuple[str, ...] = opt(
        (), help="Outputs to compute; in a frozen graph any tensor, as NAME or NAME:1.", metavar="NAME"
    )
    rename: Mapping[str, str] = opt(
        {},
        help="Rename inputs and outputs to match other backends: the model's own name, then the other.",
        metavar="OWN:OTHER",
    )
    nchw: tuple[str, ...] = opt(
        (),
        help="Inputs and outputs that have channels last in this model and channels first in the other backends, "
        "by the names used there; * for all with at least three dimensions.",
        metavar="NAME",
    )
    threads: int | None = opt(None, help="Threads for a LiteRT model; by default all usable cores.", metavar="N")
    kernels: str = opt(
        "xnnpack",
        help="What runs a LiteRT model: XNNPACK where it can, LiteRT's own kernels, or its plain ones for reference.",
        choices=("xnnpack", "builtin", "reference"),
    )
    dequantize: bool = opt(
        False,
        help="Take and give real numbers where inputs and outputs of a LiteRT model are codes: integers with a scale.",
    )
    xla: bool = opt(False, help="Compile the model with XLA.", alias="--xla")
    freeze_graph: bool = opt(
        False, help="Turn the model's variables into constants before running it.", alias="--freeze-graph"
    )
    save_pb: str | None = opt(
        None, help="Write the model as a frozen graph.", metavar="FILE", alias="--save-pb", writes=True
    )
    save_tensorboard: str | None = opt(
        None, help="Write the graph for TensorBoard.", metavar="DIR", alias="--save-tensorboard", writes=True
    )
    save_timeline: str | None = opt(
        None, help="Write TensorFlow's own profile of all runs.", metavar="DIR", alias="--save-timeline", writes=True
    )
    ckpt: str | None = opt(
        None, help="Load the weights of a Keras model from this file or checkpoint.", metavar="PATH", alias="--ckpt"
    )
    allow_growth: bool = opt(
        False, help="Let TensorFlow allocate a GPU's memory as needed, not all at once.", alias="--allow-growth"
    )
    gpu_memory_fraction: float | None = opt(
        None, help="Replaced by allow_growth.", alias="--gpu-memory-fraction", hidden=True
    )
    tftrt: bool = opt(False, help="No longer in TensorFlow.", alias=("--tftrt", "--use-tftrt"), hidden=True)
    minimum_segment_size: int | None = opt(
        None, help="No longer in TensorFlow.", alias="--minimum-segment-size", hidden=True
    )
    dynamic_op: bool = opt(False, help="No longer in TensorFlow.", alias="--dynamic-op", hidden=True)
    opset: int | None = opt(None, help="For converters only.", alias="--opset", hidden=True)

    def __post_init__(self) -> None:
        for field, instead in REPLACED.items():
            if getattr(self, field) not in {None, False}:
                raise ValueError(f"{field}: {instead}")
        check_at_least_one(self, "threads")
        if "" in self.rename:
            raise ValueError(f"a new name is OWN:OTHER; {self.rename['']!r} has no first part")


@hookimpl
def polycmp_runners() -> Iterator[RunnerSpec]:
    """Describe the backend `tf`."""
    yield RunnerSpec(
        name="tf",
        summary="TensorFlow 2 and LiteRT",
        factory="polycmp_tf.runner:make_runner",
        options=Options,
        accepts=("tf",),
        needs=("tensorflow|ai_edge_litert.interpreter",),
        tools="polycmp_tf.tools:TfRunnerTools",
    )


@hookimpl
def polycmp_loaders() -> Iterator[LoaderSpec]:
    """Describe the files of TensorFlow, and the folder of a SavedModel."""
    yield LoaderSpec(
        name="tf",
        summary="TensorFlow: SavedModel, Keras, frozen graphs, LiteRT",
        factory="polycmp_tf.model:make_loader",
        suffixes=(".pb", ".keras", ".h5", ".hdf5", ".tflite", "/saved_model.pb"),
        produces="tf",
        tools="polycmp_tf.tools:TfLoaderTools",
    )
