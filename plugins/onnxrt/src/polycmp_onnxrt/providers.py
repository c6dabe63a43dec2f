"""Execution providers: from what people type to what a session takes, and whether it took it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from polycmp.errors import PluginError, UsageError
from polycmp_onnxrt.choices import CPU, matching_providers, parse_provider
from polycmp_onnxrt.provider_packages import assigned_operators, devices_of, packaged_providers

Provider = str | tuple[str, Mapping[str, Any]]
#: Types of outputs, by which a model is no computation of shapes: ONNX Runtime leaves these to the CPU on purpose.
_REAL = frozenset({"tensor(float)", "tensor(float16)", "tensor(bfloat16)", "tensor(double)"})


class ChosenProvider(NamedTuple):
    """An execution provider that a session is to have."""

    name: str
    options: dict[str, str]
    #: Path of its library, where it is a package of its own; empty for one that ONNX Runtime is built with.
    library: str = ""


def resolve_providers(wanted: Iterable[Provider], available: tuple[str, ...]) -> list[ChosenProvider]:
    """Return the execution providers that are meant.

    Args:
        wanted: Names or parts of names with their options, as `SessionFromOnnx` takes them.
        available: Full names of the providers that this build of ONNX Runtime has.

    Raises:
        UsageError: A name is not understood, or means several providers.
        PluginError: Neither this build nor an installed package has the provider.
    """
    resolved = []
    for item in wanted:
        try:
            name, options = parse_provider(item if isinstance(item, str) else item[0])
        except ValueError as error:
            raise UsageError(str(error), whose="onnxrt") from None
        if not isinstance(item, str):
            options |= {str(key): str(value) for key, value in item[1].items()}
        resolved.append(_choose_provider(name, options, available))
    return resolved


def _choose_provider(name: str, options: dict[str, str], available: tuple[str, ...]) -> ChosenProvider:
    matches = dict.fromkeys(matching_providers(name, available), "")
    if set(matches) != {CPU}:
        # Once ONNX Runtime knows a package's provider, it lists it among its own, and yet needs its devices.
        packaged = packaged_providers(name)
        matches |= {full: packaged[full] for full in matching_providers(name, tuple(packaged))}
    if len(matches) == 1:
        [(full, library)] = matches.items()
        return ChosenProvider(full, options, library)
    if matches:
        raise UsageError(
            f"provider {name!r} means any of {', '.join(matches)}", whose="onnxrt", hint="write more of its name"
        )
    raise PluginError(
        f"this ONNX Runtime has no execution provider {name!r}",
        whose="onnxrt",
        why=f"it has {', '.join(available)}, and no installed package brings another of that name",
        hint="CUDA and TensorRT come with: pip uninstall onnxruntime; pip install 'polycmp-onnxrt[gpu]'; "
        "Qualcomm's with: pip install 'polycmp-onnxrt[qnn]'",
    )


def add_providers(ort: Any, options: Any, providers: Sequence[ChosenProvider]) -> None:
    """Add execution providers to a session's options, the most wanted first.

    Args:
        ort: The module `onnxruntime`.
        options: The session's options.
        providers: The providers, of which one at least is a package of its own.

    Raises:
        PluginError: One cannot be loaded, or has no device here.
    """
    for provider in providers:
        if provider.library:
            devices = devices_of(ort, provider.name, provider.library)
            options.add_provider_for_devices(devices, provider.options)
        else:
            options.add_provider(provider.name, provider.options)


def _for_fixed_shapes(session: Any) -> str:
    """Return what to type where a model leaves sizes open, as NPUs do not take it; empty if it leaves none."""
    shapes = {value.name: value.shape for value in session.get_inputs()}
    if all(isinstance(size, int) for shape in shapes.values() for size in shape):
        return ""
    sizes = (",".join("N" if not isinstance(size, int) else str(size) for size in shape) for shape in shapes.values())
    words = " ".join(f"{name}:[{size}]" for name, size in zip(shapes, sizes, strict=True))
    return f"it may want all sizes: polycmp surgeon sanitize MODEL --override-input-shapes {words} -o fixed.onnx"


def require_providers(session: Any, wanted: Sequence[str]) -> list[str]:
    """Make sure that a session runs on all providers that it was made for.

    Args:
        session: The session.
        wanted: Full names of the providers.

    Returns:
        A note on which provider runs how much, where there are several and ONNX Runtime tells.

    Raises:
        PluginError: One is missing, or runs nothing of a model that calculates.
    """
    # ONNX Runtime leaves out a provider whose libraries it cannot load and goes on with the next one: the comparison
    # would then silently be one of CPU with CPU. Others start, take no operator, and all of them run on the CPU.
    missing = [name for name in wanted if name not in session.get_providers()]
    if missing:
        raise PluginError(
            f"{missing[0]} could not be started",
            whose="onnxrt",
            why="its libraries or its device are missing; ONNX Runtime would run without it",
            hint="run again with -v to see ONNX Runtime's own messages, or leave the provider out",
        )
    counts = assigned_operators(session, wanted)
    calculates = any(output.type in _REAL for output in session.get_outputs())
    if counts and calculates and not counts.get(wanted[0]):
        others = ", ".join(name for name, count in counts.items() if count)
        raise PluginError(
            f"{wanted[0]} runs none of the operators",
            whose="onnxrt",
            why=f"ONNX Runtime gives all of them to {others}",
            hint=_for_fixed_shapes(session) or "run again with -v to see why, or leave the provider out",
        )
    if len(counts) < 2:
        return []
    shares = ", ".join(f"{name} {count}" for name, count in counts.items())
    return [f"operators that each execution provider runs: {shares}"]
