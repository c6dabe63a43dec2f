"""ONNX Runtime's exceptions in polycmp's words."""

from __future__ import annotations

import re

from polycmp.errors import BackendError, ModelError, PluginError, PolycmpError

_PREFIX = re.compile(r"\[ONNXRuntimeError\] : \d+ : (?P<kind>[A-Z_]+) : ")
_LOADING = re.compile(r"^(?:Load model from .*? failed: ?)+")
#: Location in ONNX Runtime's sources where a message was made: file, line and signature up to a bracket's end.
_LOCATION = re.compile(r"\S*/onnxruntime/\S+\.(?:cc|h|cpp|cu):\d+ (?:[^\[]*?\)(?: const)? )?(?=\S)")
_RUNNING = re.compile(
    r"(?:Error in execution: )?Non-zero status code returned while running (?P<op>\S+) node\."
    r" ?Name:'(?P<name>[^']*)'(?: Status Message:)? ?(?P<why>.*)",
    re.DOTALL,
)
_NO_KERNEL = (
    re.compile(r"Could not find an implementation for (?P<op>[\w.:]+)\((?P<version>-?\d+)\)"),
    re.compile(r"Failed to find kernel for (?P<op>[\w.:]+)\((?P<version>-?\d+)\)"),
)
_NO_OPERATOR = (
    re.compile(r"No Op registered for (?P<op>\S+) with domain_version of (?P<version>-?\d+)"),
    re.compile(r"(?P<op>[\w.:]+)\((?P<version>-?\d+)\) is not a registered function/op"),
)
_TOO_NEW = re.compile(r"Unsupported model IR version|is under development and support for this is limited")
_NODE_DOMAIN = re.compile(r'In Node, \("[^"]*", (?P<op>\w+), "(?P<domain>[^"]*)"')


def shorten(text: str) -> str:
    """Return the message without ONNX Runtime's prefixes, source locations and line breaks."""
    text = _LOADING.sub("", _LOCATION.sub("", _PREFIX.sub("", text)))
    return " ".join(text.split())


def missing_runtime(error: ImportError) -> PluginError:
    """Return the error for an environment without ONNX Runtime."""
    return PluginError(
        "needs ONNX Runtime, which is not installed here",
        whose="onnxrt",
        why=str(error),
        hint="pip install 'polycmp-onnxrt[cpu]' (or [gpu] for CUDA)",
    )


def loading_failed(error: Exception, *, model: str = "the model") -> PolycmpError:
    """Return the error for a session that could not be made.

    Args:
        error: The exception from ONNX Runtime.
        model: The model's path, or a description of it.
    """
    text = str(error)
    unsupported = next(filter(None, (pattern.search(text) for pattern in (*_NO_KERNEL, *_NO_OPERATOR))), None)
    if unsupported:
        return _unsupported(unsupported, text)
    kind = _PREFIX.search(text)
    name = kind["kind"] if kind else ""
    if name == "INVALID_PROTOBUF":
        return ModelError(f"{model} is not an ONNX model, or only a part of one", whose="onnxrt", why=shorten(text))
    if name == "NO_SUCHFILE":
        return ModelError(f"{model} or a file with its weights is missing", whose="onnxrt", why=shorten(text))
    if name == "INVALID_GRAPH":
        return ModelError(f"{model} is not a valid model", whose="onnxrt", why=shorten(text))
    hint = "the model is newer than this ONNX Runtime: pip install -U onnxruntime" if _TOO_NEW.search(text) else ""
    return BackendError(f"ONNX Runtime could not load {model}", whose="onnxrt", why=shorten(text), hint=hint)


def _unsupported(match: re.Match[str], text: str) -> BackendError:
    operator, version = match["op"], match["version"]
    node = _NODE_DOMAIN.search(text)
    domain = node["domain"] if node else operator.rpartition(":")[0]
    opset = "" if version.startswith("-") else f" of opset {version}"
    hint = (
        "register the library that brings it: -b onnxrt:op_libs=FILE"
        if domain
        else "another backend may have it: see `polycmp plugins list`"
    )
    shown = operator if ":" in operator or not domain else f"{domain}:{operator}"
    types = " for these types" if match.re in _NO_KERNEL else ""
    return BackendError(f"has no operator {shown}{opset}{types}", whose="onnxrt", why=shorten(text), hint=hint)


def running_failed(error: Exception, *, whose: str) -> BackendError:
    """Return the error for an inference that failed; it names the operator where ONNX Runtime does."""
    text = _PREFIX.sub("", str(error), count=1)
    running = _RUNNING.match(text)
    if not running:
        return BackendError("inference failed", whose=whose, why=shorten(text) or type(error).__name__)
    node = f" (node {running['name']!r})" if running["name"] else ""
    return BackendError(f"operator {running['op']}{node} failed", whose=whose, why=shorten(running["why"]))
