"""All references there are: those of this package, of installed extensions, and of a user's files."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from importlib.metadata import entry_points
from typing import Any

from polycmp.errors import describe_exception
from polycmp.loader import load_script
from polycmp_pluginref import ops as _ours  # noqa: F401  (importing registers)
from polycmp_pluginref.registry import References, registered

#: A distribution adds references by naming, in this entry-point group, a module that calls `register`.
EXTENSION_GROUP = "polycmp_pluginref.ops"


def collect_references(files: Iterable[str] = ()) -> tuple[References, list[str]]:
    """Load everything that registers references, and return them with the reasons why some could not be loaded.

    Args:
        files: Python files of the user. Each counts only here, so that two runners may use two versions of one.

    Raises:
        DataError: A file is missing or fails to import.
    """
    failures = [failure for failure in map(_load_extension, entry_points(group=EXTENSION_GROUP)) if failure]
    references = registered()
    for file in files:
        references.update(_references_in(load_script(file, "__dict__")))
    return references, failures


def _load_extension(entry_point: Any) -> str:
    try:
        entry_point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001  (a broken module of a third party must not stop the run)
        failure = f"the extension {entry_point.name} ({entry_point.value}) is broken: {describe_exception(error)}"
        logging.getLogger("polycmp").warning(failure)
        return failure
    return ""


def _references_in(namespace: Mapping[str, Any]) -> References:
    return {key: item for item in list(namespace.values()) for key in getattr(item, "reference_for", ())}
