"""Execution providers: from what people type to what a session takes, and whether it took it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from polycmp.errors import PluginError, UsageError
from polycmp_onnxrt.choices import matching_providers, parse_provider

Provider = str | tuple[str, Mapping[str, Any]]


def resolve_providers(wanted: Iterable[Provider], available: tuple[str, ...]) -> list[tuple[str, dict[str, str]]]:
    """Return full names and options of providers.

    Args:
        wanted: Names or parts of names with their options, as `SessionFromOnnx` takes them.
        available: Full names of the providers that this build of ONNX Runtime has.

    Raises:
        UsageError: A name is not understood, or means several providers.
        PluginError: This build does not have the provider.
    """
    resolved = []
    for item in wanted:
        try:
            name, options = parse_provider(item if isinstance(item, str) else item[0])
        except ValueError as error:
            raise UsageError(str(error), whose="onnxrt") from None
        if not isinstance(item, str):
            options |= {str(key): str(value) for key, value in item[1].items()}
        resolved.append((_choose_provider(name, available), options))
    return resolved


def _choose_provider(name: str, available: tuple[str, ...]) -> str:
    matches = matching_providers(name, available)
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise UsageError(
            f"provider {name!r} means any of {', '.join(matches)}", whose="onnxrt", hint="write more of its name"
        )
    raise PluginError(
        f"this ONNX Runtime has no execution provider {name!r}",
        whose="onnxrt",
        why=f"it has {', '.join(available)}",
        hint="CUDA and TensorRT come with: pip uninstall onnxruntime; pip install 'polycmp-onnxrt[gpu]'",
    )


def require_providers(session: Any, wanted: list[str]) -> None:
    """Make sure that a session runs on all providers that it was made for.

    Raises:
        PluginError: One is missing.
    """
    # ONNX Runtime leaves out a provider whose libraries it cannot load and goes on with the next one: the comparison
    # would then silently be one of CPU with CPU.
    missing = [name for name in wanted if name not in session.get_providers()]
    if missing:
        raise PluginError(
            f"{missing[0]} could not be started",
            whose="onnxrt",
            why="its libraries or its device are missing; ONNX Runtime would run without it",
            hint="run again with -v to see ONNX Runtime's own messages, or leave the provider out",
        )
