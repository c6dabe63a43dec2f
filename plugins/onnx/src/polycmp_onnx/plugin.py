"""Contributions of polycmp-onnx: the loader `onnx` and the backend `onnx`. Light: no ONNX is imported here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from polycmp.spec import CommandSpec, LoaderSpec, ObserverSpec, RunnerSpec, RunnerTools, hookimpl, opt, parse_size


@dataclass(frozen=True)
class LoaderOptions:
    """Options for loading an ONNX model, changing it, and saving the result."""

    outputs: tuple[str, ...] = opt(
        (),
        help="Tensors to use as the model's outputs instead of its own: names, patterns, or * for all.",
        metavar="NAME",
    )
    mark_all: bool = opt(False, help="Make every tensor an output.", alias="--mark-all")
    outputs_by_type: tuple[str, ...] = opt(
        (), help="Turn what operators of these types compute into model outputs.", metavar="OP_TYPE"
    )
    exclude_outputs: tuple[str, ...] = opt(
        (), help="Names and patterns of outputs to leave out.", metavar="NAME", alias="--exclude-outputs"
    )
    external_data_dir: str | None = opt(
        None,
        help="Folder of weights stored outside the file; by default the model's folder.",
        metavar="DIR",
        alias=("--external-data-dir", "--load-external-data", "--ext"),
    )
    ignore_external_data: bool = opt(
        False, help="Load the structure without the weights outside the file.", alias="--ignore-external-data"
    )
    shape_inference: bool = opt(
        False, help="Infer the shapes inside the model.", alias=("--shape-inference", "--do-shape-inference")
    )
    no_onnxruntime_shape_inference: bool = opt(
        False, help="Infer shapes with ONNX only, without ONNX Runtime.", alias="--no-onnxruntime-shape-inference"
    )
    fp_to_fp16: bool = opt(
        False, help="Convert the model to float16; its inputs and outputs keep their types.",
        alias="--fp-to-fp16",
    )  # fmt: skip
    fp_to_bf16: bool = opt(
        False, help="Convert the model to bfloat16; its inputs and outputs keep their types.",
        alias="--fp-to-bf16",
    )  # fmt: skip
    keep_float: tuple[str, ...] = opt(
        (),
        help="With --fp-to-fp16 or --fp-to-bf16: operator types and node names to keep in float32.",
        metavar="OP_TYPE|NODE",
        alias="--keep-float",
    )
    save: str | None = opt(
        None, help="Save the model after applying these options.", metavar="PATH", alias="--save-onnx", writes=True
    )
    save_external_data: str | None = opt(
        None,
        help="With --save-onnx: store the weights in this file next to the model; without a name, in MODEL.data.",
        metavar="[NAME]",
        bare="",
        alias=("--save-external-data", "--external-data-path"),
        writes=True,
    )
    external_data_size_threshold: int = opt(
        1024,
        help="With --save-external-data: tensors smaller than this stay in the model; K, M and G are allowed.",
        metavar="BYTES",
        parse=parse_size,
        alias="--external-data-size-threshold",
    )
    no_save_all_tensors_to_one_file: bool = opt(
        False, help="With --save-external-data: one file per tensor.", alias="--no-save-all-tensors-to-one-file"
    )


@dataclass(frozen=True)
class RunnerOptions:
    """Options of the reference evaluator."""

    dtype: str = opt(
        "",
        help="Compute in this precision instead of the model's: float64 for very little rounding error, float16 or "
        "bfloat16 to see the effect of rounding every result.",
        choices=("", "float64", "float16", "bfloat16"),
    )
    ops: tuple[str, ...] = opt(
        (),
        help="Python files with a list `new_ops` of OpRun classes for operators ONNX lacks.",
        metavar="FILE.py[:NAME]",
    )


@hookimpl
def polycmp_loaders() -> Iterable[LoaderSpec]:
    """Contribute the loader of ONNX files."""
    yield LoaderSpec(
        name="onnx",
        summary="ONNX models, in any of ONNX's file formats",
        factory="polycmp_onnx.compose:make_loader",
        options=LoaderOptions,
        suffixes=(".onnx", ".onnxtxt", ".onnxtext", ".onnxjson", ".textproto"),
        produces="onnx",
        tools="polycmp_onnx.loader_tools:OnnxTools",
    )


@hookimpl
def polycmp_runners() -> Iterable[RunnerSpec]:
    """Contribute the backend on ONNX's reference evaluator."""
    yield RunnerSpec(
        name="onnx",
        summary="ONNX reference evaluator, also in float64, float16 or bfloat16",
        factory="polycmp_onnx.runner:make_runner",
        options=RunnerOptions,
        accepts=("onnx",),
        needs=("onnx",),
        tools="polycmp_onnx.plugin:ReferenceTools",
    )


class ReferenceTools(RunnerTools):
    """A reference that calculates in several types, and starts in a moment."""

    precise = (("dtype", "float64"),)
    narrows = (("dtype", ""),)
    trial_cost = 10
    aliases = ("onnxref", "onnx_reference")


@hookimpl
def polycmp_run_observers() -> Iterable[ObserverSpec]:
    """Contribute the hint at the original of a file that no runtime loads."""
    yield ObserverSpec("unloadable", "Files that no runtime loads", "polycmp_onnx.unloadable:hint_at_file")


_SURGEON = "Cut, clean up and edit ONNX models."
_INSPECT = "Show what is in a model, or in a file of inputs or outputs."
_CHECK = "Judge saved metrics again; find faults in models."
_PLUGIN = "Replace parts of ONNX models with TensorRT plugins."
_COMMANDS = (
    ("demo", "Write two small models, one with a fault, and find it.", "demo:demo", ""),
    ("convert", "Convert a model to another format or precision.", "convert:convert_command", ""),
    ("inspect model", "Show the content of a model.", "inspect:model_command", _INSPECT),
    ("inspect sparsity", "Show which weights are 2:4 sparse.", "inspect:sparsity_command", _INSPECT),
    ("check lint", "Find faults in a model.", "check:lint_command", _CHECK),
    ("surgeon extract", "Cut a part out of a model.", "surgeon:extract_command", _SURGEON),
    ("surgeon sanitize", "Fold constants, change shapes, clean up.", "surgeon:sanitize_command", _SURGEON),
    ("surgeon insert", "Put a node into a model.", "surgeon:insert_command", _SURGEON),
    ("surgeon prune", "Make weights 2:4 sparse.", "surgeon:prune_command", _SURGEON),
    ("surgeon weight-strip", "Remove the values of weights.", "surgeon:weight_strip_command", _SURGEON),
    ("surgeon weight-reconstruct", "Fill stripped weights at random.", "surgeon:weight_reconstruct_command", _SURGEON),
    ("plugin list", "Count what plugins fit.", "pattern_plugins:list_command", _PLUGIN),
    ("plugin match", "Find what plugins can replace.", "pattern_plugins:match_command", _PLUGIN),
    ("plugin replace", "Put plugins into a model.", "pattern_plugins:replace_command", _PLUGIN),
    (
        "template onnx-gs",
        "Write a script that changes an ONNX model.",
        "template:onnx_gs",
        "Generate starter scripts.",
    ),
)
#: Commands that Polygraphy has for such models, and polycmp does not: they say why, and what to do instead.
_REFUSED = {
    "plugin autotune": "autotune_command",
    "multi-device": "several_devices_command",
    "template shard-hints": "several_devices_command",
}


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute the commands over ONNX models, and those that it refuses in words."""
    for words, summary, target, group in _COMMANDS:
        purpose = {"demo": "compare", "check lint": "guard"}.get(words, "files")
        yield CommandSpec(tuple(words.split()), summary, f"polycmp_onnx.tools.{target}", group, purpose=purpose)
    for words, target in _REFUSED.items():
        yield CommandSpec(tuple(words.split()), "Not in polycmp.", f"polycmp_onnx.tools.refused:{target}", hidden=True)
