"""What is not installed, and which package brings it: all that the core knows by name of what others contribute.

What is installed says of itself, in its descriptors, what it is called and what it reads; these tables are only for
answers to those who lack it.
"""

from __future__ import annotations

from collections.abc import Mapping

INSTALL_COMMANDS: Mapping[str, str] = {
    "faulty": "pip install polycmp-checks",
    "onnx": "pip install polycmp-onnx",
    "onnxrt": "pip install 'polycmp-onnxrt[cpu]' (or [gpu])",
    "pluginref": "pip install polycmp-pluginref",
    "trt": "pip install 'polycmp-trt[cu12]' (or [cu13])",
}

COMMANDS: Mapping[str, tuple[str, str]] = {
    "invariants": ("checks", "pip install polycmp-checks"),
    "locate": ("locate", "pip install polycmp-locate"),
    "selftest": ("checks", "pip install polycmp-checks"),
    "suite": ("suite", "pip install polycmp-suite"),
}
"""Commands that packages of ours bring: the plugin, and the command that installs it."""

REPORTS: Mapping[str, str] = dict.fromkeys(("html", "xml", "md"), "pip install polycmp-report")
"""Which package writes a kind of report, by its suffix."""

OPTIONS_OF_REPORTS: Mapping[str, tuple[str, str]] = dict.fromkeys(
    ("--save-heatmaps", "--show-heatmaps", "--save-error-metrics-plot", "--show-error-metrics-plot"),
    ("pictures", "pip install 'polycmp-report[plot]'"),
)
"""Options that a report brings: the report, and the command that installs it."""

NOT_YET: Mapping[str, str] = {
    "tf": "no backend provides TensorFlow yet",
    "tensorflow": "no backend provides TensorFlow yet",
}
"""Names people try for which there is nothing to install."""

OTHER_NAMES: Mapping[str, str] = {
    "onnxruntime": "onnxrt",
    "ort": "onnxrt",
    "tensorrt": "trt",
    "onnx_reference": "onnx",
    "onnxref": "onnx",
}
"""What others call the same backends."""

KINDS: Mapping[str, str] = {
    "onnx": "onnx",
    **dict.fromkeys(
        ("trt", "engine", "trt-network", "trt-network-script", "onnx-like-trt-network", "onnx-like"), "trt"
    ),
}
"""Which backend's package knows a kind of model, by any of its names."""

SUFFIXES: Mapping[str, str] = {".onnx": "onnx", ".engine": "trt", ".plan": "trt"}
"""Which backend's package reads and writes a kind of file."""

FLAGS_NOT_YET: Mapping[str, tuple[str, str]] = dict.fromkeys(
    (
        "--tftrt",
        "--use-tftrt",
        "--minimum-segment-size",
        "--dynamic-op",
        "--ckpt",
        "--tf-outputs",
        "--save-pb",
        "--save-tensorboard",
        "--freeze-graph",
        "--gpu-memory-fraction",
        "--allow-growth",
        "--xla",
        "--save-timeline",
        "--opset",
    ),
    ("tf", "is an option for TensorFlow, and no backend provides TensorFlow yet"),
)
"""Options that people try for which there is nothing to install: a name for the backend to be, and what to say."""


def explain_suffix(suffix: str) -> str:
    """Return the command that installs what reads and writes such files; empty if none is known."""
    return INSTALL_COMMANDS.get(SUFFIXES.get(suffix, ""), "")


def explain_kind(kind: str) -> str:
    """Return the command that installs what knows a kind of model; empty if none is known."""
    return INSTALL_COMMANDS.get(KINDS.get(kind, ""), "")
