"""Execution providers that are packages of their own: finding them, and telling ONNX Runtime of them."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from polycmp.errors import PluginError
from polycmp_onnxrt.choices import CPU, SUFFIX
from polycmp_onnxrt.reasons import shorten

#: How their modules are called: `onnxruntime_qnn`, `onnxruntime_ep_openvino`.
_PREFIX = "onnxruntime_"


def packaged_providers(wanted: str) -> dict[str, str]:
    """Return the libraries of the installed execution providers that a name may mean, by their full names.

    A package has functions `get_library_path` and `get_ep_name` or `get_ep_names`, as ONNX Runtime's guide to such
    packages (https://onnxruntime.ai/docs/execution-providers/plugin-ep-libraries/packaging.html) proposes.

    Args:
        wanted: A provider's name or a part of it, in any case. Packages of other names are not imported.
    """
    short = wanted.lower().removesuffix(SUFFIX.lower())
    providers: dict[str, str] = {}
    for item in pkgutil.iter_modules():
        if item.name.startswith(_PREFIX) and short in item.name.removeprefix(_PREFIX).replace("_", ""):
            providers |= dict(_providers_of(item.name))
    return providers


def _providers_of(name: str) -> Iterator[tuple[str, str]]:
    """Yield the execution providers of a package with their library; none where it is another kind of package."""
    try:
        package = importlib.import_module(name)
    except Exception as error:
        raise PluginError(f"the package {name} cannot be imported", whose="onnxrt", why=shorten(str(error))) from error
    if hasattr(package, "get_library_path"):
        yield from ((provider, str(package.get_library_path())) for provider in _names(package))


def _names(package: ModuleType) -> list[str]:
    return list(package.get_ep_names()) if hasattr(package, "get_ep_names") else [package.get_ep_name()]


def devices_of(ort: Any, provider: str, library: str) -> list[Any]:
    """Return the devices on which a provider can run, which is made known to ONNX Runtime if it is not yet.

    Args:
        ort: The module `onnxruntime`.
        provider: The provider's full name.
        library: The path of its library.

    Raises:
        PluginError: This ONNX Runtime takes no such providers, cannot load the library, or there is no device for it.
    """
    if not hasattr(ort, "register_execution_provider_library"):
        raise PluginError(
            f"ONNX Runtime {ort.__version__} takes no {provider} of another package",
            whose="onnxrt",
            hint="pip install --upgrade onnxruntime",
        )
    devices = _devices(ort, provider)
    if not devices:
        try:
            ort.register_execution_provider_library(provider, library)
        except Exception as error:
            if "already registered" not in str(error):
                why = shorten(str(error))
                raise PluginError(f"{provider} cannot be loaded", whose="onnxrt", why=why) from error
        devices = _devices(ort, provider)
    if not devices:
        raise PluginError(
            f"{provider} finds no device that it runs on",
            whose="onnxrt",
            why=f"{library} was loaded, and declares none of this machine",
            hint="leave the provider out, or ask its vendor which devices it takes",
        )
    return devices


def _devices(ort: Any, provider: str) -> list[Any]:
    return [device for device in ort.get_ep_devices() if device.ep_name == provider]


#: The entry with which a session remembers which provider runs what.
RECORD_ASSIGNMENT = "session.record_ep_graph_assignment_info"


def assigned_operators(session: Any, wanted: Iterable[str]) -> dict[str, int]:
    """Return how many operators each provider runs, by its full name; empty where ONNX Runtime does not tell.

    Args:
        session: A session whose options have the entry `RECORD_ASSIGNMENT`.
        wanted: Full names of the providers that it was made for.
    """
    if set(wanted) == {CPU} or not hasattr(session, "get_provider_graph_assignment_info"):  # before 1.24
        return {}
    counts: Counter[str] = Counter()
    for part in session.get_provider_graph_assignment_info():
        counts[part.ep_name] += len(part.get_nodes())
    return dict(counts)
