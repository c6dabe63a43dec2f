"""OpenVINO's exceptions in polycmp's words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from polycmp.errors import BackendError, ModelError, PluginError, PolycmpError

#: Location in OpenVINO's sources where a message was made, and the condition that failed there.
_LOCATION = re.compile(r"Exception from \S+:\d+:\s*|Check '.*?' failed at \S+:\d+:\s*|\[ERROR\]\s*", re.DOTALL)
#: What OpenVINO says of a type that it does not know, without a word of where.
_TYPE = re.compile(r"(?i)unsupported (element )?type")
_UNSUPPORTED = (
    re.compile(r"No conversion rule found for operations: (?P<op>[\w.:-]+(?:, ?[\w.:-]+)*)"),
    re.compile(r"does not support the following ONNX operations: (?P<op>[\w.:-]+(?:, ?[\w.:-]+)*)"),
    re.compile(r"Unsupported operation of type: (?P<op>\w+) name: (?P<node>\S+)"),
)


def shorten(text: str) -> str:
    """Return a message without source locations and line breaks."""
    return " ".join(_LOCATION.sub("", text).split())


def missing_library(error: ImportError) -> PluginError:
    """Return the error for an environment without OpenVINO."""
    return PluginError(
        "needs OpenVINO, which is not installed here",
        whose="openvino",
        why=str(error),
        hint="pip install 'polycmp-openvino[openvino]'",
    )


def reading_failed(error: Exception, model: str, held: Mapping[str, str] = MappingProxyType({})) -> PolycmpError:
    """Return the error for a model that OpenVINO could not read.

    Args:
        error: The exception from OpenVINO.
        model: The model's path, or a description of it.
        held: Types of inputs and outputs that a release may not know, by name.
    """
    why = shorten(str(error))
    if held and _TYPE.search(why):
        why = f"{why}: {', '.join(f'{name!r} holds {kind}' for name, kind in held.items())}"
    return _unsupported(error) or ModelError(f"OpenVINO could not read {model}", whose="openvino", why=why)


def compiling_failed(error: Exception, device: str, *, whose: str) -> BackendError:
    """Return the error for a model that a device could not compile."""
    return _unsupported(error) or BackendError(
        f"the device {device} could not compile the model", whose=whose, why=shorten(str(error))
    )


def running_failed(error: Exception, *, whose: str) -> BackendError:
    """Return the error for an inference that failed."""
    return BackendError("inference failed", whose=whose, why=shorten(str(error)) or type(error).__name__)


def no_device(device: str, available: list[str], *, whose: str) -> PluginError:
    """Return the error for a device that is not here."""
    return PluginError(
        f"there is no device {device!r} here",
        whose=whose,
        why=f"OpenVINO finds {', '.join(available) or 'none'}",
        hint="-b openvino:device=CPU; for a GPU or NPU, install its driver",
    )


def _unsupported(error: Exception) -> BackendError | None:
    text = str(error)
    match = next(filter(None, (pattern.search(text) for pattern in _UNSUPPORTED)), None)
    if match is None:
        return None
    return BackendError(
        f"has no operator {match['op']}",
        whose="openvino",
        why=shorten(text),
        hint="another backend may have it: see `polycmp plugins list`",
    )
