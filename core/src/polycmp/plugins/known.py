"""Which package brings a backend that is not installed."""

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

OTHER_KINDS: Mapping[str, str] = {"trt-network-script": "trt-network"}
"""What others call the same kinds of model."""

SUFFIXES: Mapping[str, str] = {".onnx": "onnx", ".engine": "trt", ".plan": "trt"}
"""Which backend's package reads and writes a kind of file."""


def explain_suffix(suffix: str) -> str:
    """Return the command that installs what reads and writes such files; empty if none is known."""
    return INSTALL_COMMANDS.get(SUFFIXES.get(suffix, ""), "")
