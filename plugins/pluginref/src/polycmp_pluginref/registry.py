"""The open registry: which Python function is the reference for which operator."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import entry_points
from typing import Any, TypeVar

from polycmp.errors import describe_exception
from polycmp.script import load_script

#: A distribution adds references by naming, in this entry-point group, a module that calls `register`.
EXTENSION_GROUP = "polycmp_pluginref.ops"

Reference = Callable[..., Any]
References = dict[tuple[str, str], Reference]
F = TypeVar("F", bound=Reference)

_registered: References = {}


def register(op: str, domain: str = "") -> Callable[[F], F]:
    """Make a function the reference for an operator; of two for the same operator the later one counts.

    The function gets the node's inputs as positional arguments (None for an optional one left out) and its attributes
    as keyword arguments, and returns one array, or a tuple of them for several outputs. It must not change its inputs.

    Args:
        op: The operator's type, such as `LReLU_TRT`.
        domain: The operator's domain. The default fits in every domain, because exporters disagree on the domain
            of plugin operators; a reference for one domain comes before it.

    Example:
        ::

            import numpy as np
            from polycmp_pluginref import register

            @register("HardSwish_TRT")
            def hard_swish(x, *, alpha=3.0):
                return x * np.clip(x / (2 * alpha) + 0.5, 0, 1).astype(x.dtype)
    """

    def add(function: F) -> F:
        _registered[domain, op] = function
        function.__dict__.setdefault("reference_for", []).append((domain, op))
        return function

    return add


def find_reference(references: References, op: str, domain: str) -> Reference | None:
    """Return the reference for an operator: one for just this domain, else one for any domain, else None."""
    return references.get((domain, op)) or references.get(("", op))


def collect_references(files: Iterable[str] = ()) -> tuple[References, list[str]]:
    """Load everything that registers references, and return them with the reasons why some could not be loaded.

    Args:
        files: Python files of the user. Each counts only here, so that two runners may use two versions of one.

    Raises:
        DataError: A file is missing or fails to import.
    """
    import polycmp_pluginref.ops  # noqa: F401  (importing registers)

    failures = [failure for failure in map(_load_extension, entry_points(group=EXTENSION_GROUP)) if failure]
    references = dict(_registered)
    for file in files:
        references.update(_references_in(load_script(file, "__dict__")))
    return references, failures


def _load_extension(entry_point: Any) -> str:
    try:
        entry_point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001  (somebody else's module must not stop anybody's run)
        failure = f"the extension {entry_point.name} ({entry_point.value}) is broken: {describe_exception(error)}"
        logging.getLogger("polycmp").warning(failure)
        return failure
    return ""


def _references_in(namespace: Mapping[str, Any]) -> References:
    return {key: item for item in list(namespace.values()) for key in getattr(item, "reference_for", ())}
