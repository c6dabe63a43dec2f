"""What is not installed, and which package brings it: all that the core knows by name of what others contribute.

What is installed says of itself, in its descriptors, what it is called and what it reads; these tables are only for
answers to those who lack it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from polycmp.errors import PluginError, PolycmpError, UsageError, did_you_mean
from polycmp.plugins.discovery import BUILTIN, WORDS, Contribution, Kind, PluginRecord

INSTALL_COMMANDS: Mapping[str, str] = {
    "faulty": "pip install polycmp-checks",
    "onnx": "pip install polycmp-onnx",
    "onnxrt": "pip install 'polycmp-onnxrt[cpu]' (or [gpu])",
    "openvino": "pip install 'polycmp-openvino[openvino]'",
    "pluginref": "pip install polycmp-pluginref",
    "tf": "pip install 'polycmp-tf[tf]' (or [lite] for .tflite files alone)",
    "torch": "pip install 'polycmp-torch[torch]'",
    "trt": "pip install 'polycmp-trt[cu12]' (or [cu13])",
}

_ONNX = ("onnx", "pip install polycmp-onnx")
_DATA = ("data", "pip install polycmp-data")

COMMANDS: Mapping[str, tuple[str, str]] = {
    "check": ("checks", "pip install polycmp-checks"),
    "check accuracy": ("checks", "pip install polycmp-checks"),
    "check lint": _ONNX,
    "compare": _DATA,
    "convert": _ONNX,
    "data": _DATA,
    "inspect": _ONNX,
    "inspect data": _DATA,
    "inspect model": _ONNX,
    "inspect sparsity": _ONNX,
    "invariants": ("checks", "pip install polycmp-checks"),
    "locate": ("locate", "pip install polycmp-locate"),
    "debug": ("locate", "pip install polycmp-locate"),
    "plugins check": ("testing", "pip install polycmp-testing"),
    "plugins new": ("testing", "pip install polycmp-testing"),
    "surgeon": _ONNX,
    "selftest": ("checks", "pip install polycmp-checks"),
    "suite": ("suite", "pip install polycmp-suite"),
    "template": ("locate", "pip install polycmp-locate"),
    "template trt-config": ("trt", "pip install 'polycmp-trt[cu12]' (or [cu13])"),
    "template trt-network": ("trt", "pip install 'polycmp-trt[cu12]' (or [cu13])"),
}
"""Commands that packages of ours bring: the plugin, and the command that installs it."""

DATA_LOADERS: Mapping[str, tuple[str, str]] = {"stress": ("checks", "pip install polycmp-checks")}
"""Data loaders that packages of ours bring, likewise."""

_TENSORRT_PLUGINS = (
    "polycmp does not look for TensorRT plugins in a model",
    "onnx-graphsurgeon replaces patterns; `polycmp plugins` is about packages of polycmp",
)

_SEVERAL_DEVICES = ("polycmp does not spread a model over several devices", "run each part as a model of its own")

COMMANDS_ELSEWHERE: Mapping[str, tuple[str, str]] = {
    "plugin": _TENSORRT_PLUGINS,
    "multi-device": _SEVERAL_DEVICES,
    "template shard-hints": _SEVERAL_DEVICES,
    "data to-input": ("it is called `data merge`", "polycmp data merge FILE... -o INPUTS.json"),
}
"""Commands of Polygraphy that have another name here or none: why, and what to do instead."""


REPORTS: Mapping[str, tuple[str, str]] = dict.fromkeys(("html", "xml", "md"), ("report", "pip install polycmp-report"))
"""Which package writes a kind of report, by its suffix, likewise."""

FORMATS: Mapping[str, tuple[str, str]] = {
    "json": ("formats", "pip install polycmp-formats"),
    "npz": ("formats", "pip install polycmp-formats"),
    "safetensors": ("formats", "pip install 'polycmp-formats[safetensors]'"),
}
"""Which package reads and writes a type of file of inputs and outputs, by its suffix, likewise."""

_CHECKS = ("checks", "pip install polycmp-checks")

COMPARE_FUNCS: Mapping[str, tuple[str, str]] = dict.fromkeys(
    ("indices", "l2", "cosine_similarity", "psnr", "snr", "ulp", "distance_metrics", "quality_metrics"), _CHECKS
)
"""Compare functions and groups of them that packages of ours bring, likewise."""

OPTIONS_OF_COMPARE_FUNCS: Mapping[str, str] = {
    "--index-tolerance": "indices",
    **dict.fromkeys(("--l2-threshold", "--l2-tolerance"), "l2"),
    "--cosine-similarity-threshold": "cosine_similarity",
    **dict.fromkeys(("--psnr-threshold", "--psnr-tolerance"), "psnr"),
    **dict.fromkeys(("--snr-threshold", "--snr-tolerance"), "snr"),
    "--ulp-tolerance": "ulp",
}
"""Options of such functions."""

SERVICES: Mapping[str, tuple[str, str]] = {
    "averages": _CHECKS,
    "follow_ups": _CHECKS,
    "pairing": ("locate", "pip install polycmp-locate"),
    "postprocessing": _CHECKS,
    "rounding": _CHECKS,
    "sizes": _DATA,
    "windows": ("layerwise", "pip install polycmp-layerwise"),
    "workers": ("workers", "pip install polycmp-workers"),
}
"""What runs make use of, likewise."""

BROUGHT: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "command": COMMANDS,
    "compare_func": COMPARE_FUNCS,
    "data_loader": DATA_LOADERS,
    "report": REPORTS,
    "format": FORMATS,
    "service": SERVICES,
}
"""All of these by kind."""

FOLDER_SUFFIX = ".npz"
"""What the files are of which a folder of inputs or outputs is made, one for each iteration."""

OPTIONS_OF_REPORTS: Mapping[str, tuple[str, str]] = {
    "--save-accuracy-results": ("accuracy", "pip install polycmp-checks"),
    **dict.fromkeys(("--gen-script", "--gen"), ("script", "pip install polycmp-api")),
    **dict.fromkeys(
        ("--save-heatmaps", "--show-heatmaps", "--save-error-metrics-plot", "--show-error-metrics-plot"),
        ("pictures", "pip install 'polycmp-report[plot]'"),
    ),
}
"""Options that a report brings: the report, and the command that installs it."""

#: Options that a backend's package brings under names without the backend's in front.
_OPTIONS: Mapping[str, str] = {
    "onnx": (
        "--mark-all --exclude-outputs --external-data-dir --load-external-data --ext --ignore-external-data "
        "--shape-inference --do-shape-inference --no-onnxruntime-shape-inference --fp-to-fp16 --fp-to-bf16 "
        "--keep-float --save-onnx --save-external-data --external-data-path --external-data-size-threshold "
        "--no-save-all-tensors-to-one-file"
    ),
    "onnxrt": ("--providers --execution-providers --graph-optimization-level --op-libs --custom-op-libs"),
    "tf": (
        "--tftrt --use-tftrt --minimum-segment-size --dynamic-op --ckpt --save-pb --save-tensorboard --freeze-graph "
        "--gpu-memory-fraction --allow-growth --xla --save-timeline --opset"
    ),
    "trt": (
        "--fp32 --tf32 --fp16 --bf16 --fp8 --int8 --precision-constraints --layer-precisions --strongly-typed "
        "--calibration-cache --calib-base-cls --calibration-base-class --quantile --regression-cutoff "
        "--quantization-flags --sparse-weights --version-compatible --exclude-lean-runtime --refittable "
        "--strip-plan --use-dla --allow-gpu-fallback --direct-io --pool-limit --memory-pool-limit --workspace "
        "--tactic-sources --preview-features --builder-optimization-level --hardware-compatibility-level "
        "--max-aux-streams --profiling-verbosity --weight-streaming --runtime-platform --engine-capability "
        "--tiling-optimization-level --timing-cache --load-timing-cache --save-timing-cache "
        "--error-on-timing-cache-miss --disable-compilation-cache --save-tactics --save-tactic-replay "
        "--load-tactics --load-tactic-replay --plugins --onnx-flags --plugin-instancenorm "
        "--enable-uint8-asymmetric-quantization-dla --tensor-dtypes --tensor-datatypes --all-tensor-dtypes "
        "--all-tensor-datatypes --tensor-formats --all-tensor-formats --decomposable-attentions --mark-debug "
        "--mark-unfused-tensors-as-debug-tensors --save-engine --load-runtime --dla-workspace-allocation-strategy "
        "--optimization-profile --allocation-strategy --weight-streaming-budget"
    ),
}

OPTIONS_OF_BACKENDS: Mapping[str, str] = {flag: name for name, flags in _OPTIONS.items() for flag in flags.split()}
"""Such an option, and the backend whose package brings it."""

OTHER_NAMES: Mapping[str, str] = {
    "onnxruntime": "onnxrt",
    "ort": "onnxrt",
    "ov": "openvino",
    "pytorch": "torch",
    **dict.fromkeys(("tensorflow", "keras", "tflite", "litert"), "tf"),
    "tensorrt": "trt",
    "onnx_reference": "onnx",
    "onnxref": "onnx",
}
"""What others call the same backends."""

KINDS: Mapping[str, str] = {
    "onnx": "onnx",
    **dict.fromkeys(("openvino", "openvino-ir"), "openvino"),
    **dict.fromkeys(("torch", "pytorch"), "torch"),
    **dict.fromkeys(("tf", "tensorflow", "frozen", "keras", "tflite"), "tf"),
    **dict.fromkeys(
        ("trt", "engine", "trt-network", "trt-network-script", "onnx-like-trt-network", "onnx-like"), "trt"
    ),
}
"""Which backend's package knows a kind of model, by any of its names."""

SUFFIXES: Mapping[str, str] = {
    ".onnx": "onnx",
    ".engine": "trt",
    ".plan": "trt",
    ".xml": "openvino",
    ".pt2": "torch",
    ".pt": "torch",
    **dict.fromkeys((".pb", ".keras", ".h5", ".tflite"), "tf"),
}
"""Which backend's package reads and writes a kind of file."""


def explain_suffix(suffix: str) -> str:
    """Return the command that installs what reads and writes such files; empty if none is known."""
    return INSTALL_COMMANDS.get(SUFFIXES.get(suffix, ""), "")


def explain_kind(kind: str) -> str:
    """Return the command that installs what knows a kind of model; empty if none is known."""
    return INSTALL_COMMANDS.get(KINDS.get(kind, ""), "")


def not_found(
    kind: Kind, name: str, table: Mapping[str, Contribution], records: Iterable[PluginRecord]
) -> PolycmpError:
    """Return the error for a name that nobody has, with what to do about it.

    Args:
        kind: What was asked for.
        name: What it was called.
        table: Everything of this kind that there is, by name.
        records: The plugins.
    """
    if kind == "report":
        return _no_report(name, table)
    if kind == "format":
        return _no_format(name, table)
    what = f"there is no {WORDS[kind]} {name!r}"
    if kind == "command":
        return _no_command(name, table)
    brought = next((r for r in records if r.state == "ok" and r.name == name and r.name != BUILTIN), None)
    if brought is not None:
        offers = ", ".join(f"{WORDS[item.kind]} {item.name!r}" for item in brought.contributions) or "nothing"
        return PluginError(what, why=f"{brought.label} is installed, but offers {offers}", hint="polycmp plugins list")
    called = (key for key, item in table.items() if kind == "runner" and name in item.spec.aliases)
    known = next(called, OTHER_NAMES.get(name, name))
    if kind == "runner" and known in table:
        return PluginError(what, why=f"it is called {known!r} here", hint=f"-b {known}")
    install = INSTALL_COMMANDS.get(known, "") if kind == "runner" else BROUGHT.get(kind, {}).get(name, ("", ""))[1]
    if install:
        return PluginError(what, why="the package that brings it is not installed", hint=install)
    # Backends come and go with packages; any other name that nobody has is a slip of the fingers.
    kind_of_error = PluginError if kind == "runner" else UsageError
    return kind_of_error(what, why=did_you_mean(name, table), hint="polycmp plugins list")


def _no_command(name: str, table: Mapping[str, Contribution]) -> PolycmpError:
    what = f"there is no command {name!r}"
    if name in COMMANDS:
        return PluginError(what, why="the package that brings it is not installed", hint=COMMANDS[name][1])
    if name in COMMANDS_ELSEWHERE:
        why, instead = COMMANDS_ELSEWHERE[name]
        return UsageError(what, why=why, hint=instead)
    group = name.rpartition(" ")[0]
    return UsageError(what, why=did_you_mean(name, table), hint=" ".join(filter(None, ["polycmp", group, "--help"])))


def _no_report(name: str, table: Mapping[str, Contribution]) -> PolycmpError:
    what = f"no report is written as {'.' + name if name else 'a file without suffix'}"
    if name in REPORTS:
        return PluginError(what, why="the package that writes it is not installed", hint=REPORTS[name][1])
    known = [f".{key}" for key in (*(key for key, item in table.items() if item.spec.suffix), *REPORTS)]
    return UsageError(what, why=did_you_mean(f".{name}", known), hint="polycmp plugins list")


def _no_format(name: str, table: Mapping[str, Contribution]) -> PolycmpError:
    if name in FORMATS:
        what = f"files of the type .{name} are read and written by a package that is not installed"
        return PluginError(what, hint=FORMATS[name][1])
    known = ", ".join(f".{key}" for key in dict.fromkeys((*table, *FORMATS)))
    return UsageError(f"unknown type of file {'.' + name!r}; known are {known}, and a folder without a suffix")


def next_step(record: PluginRecord) -> str:
    """Return what to type about a plugin that does not work."""
    if record.state == "excluded":
        return f"pip install --upgrade polycmp {record.distribution}"
    if record.state == "disabled":
        return f"unset POLYCMP_PLUGINS, or add {record.name} to it"
    if not record.distribution:
        return "polycmp plugins list"
    if record.reason.startswith("duplicate name"):
        return f"pip uninstall {record.distribution}"
    return f"polycmp plugins check {record.name}"
