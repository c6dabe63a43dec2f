"""Import what a descriptor names, and say whose fault it is when that fails."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import re
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import Any

from polycmp.errors import PluginError, describe_exception
from polycmp.plugins.records import Contribution


def missing_modules(spec: Any) -> tuple[str, ...]:
    """Return those of the modules a descriptor `needs` that are not there, looked for without importing anything.

    Only the top-level package is looked for: to find `a.b`, Python would have to import `a`.
    """
    return tuple(name for name in getattr(spec, "needs", ()) if not _exists(name))


def _exists(name: str) -> bool:
    top, dot, _ = name.partition(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return top in sys.modules
    # A folder that happens to have the name, beside somebody's script, passes for a package without contents.
    is_folder = spec is not None and spec.origin is None and spec.submodule_search_locations is not None
    return spec is not None and (bool(dot) or not is_folder)


def require(contribution: Contribution) -> None:
    """Check that the modules a contribution needs are installed.

    Raises:
        PluginError: One is missing; the error names it and the command that installs it.
    """
    missing = missing_modules(contribution.spec)
    if missing:
        raise PluginError(
            lacks(missing),
            whose=contribution.label,
            hint=install_command(contribution, missing[0]),
        )


def lacks(modules: Sequence[str]) -> str:
    """Return the half sentence for modules that are missing."""
    if len(modules) == 1:
        return f"needs the Python module {modules[0]!r}, which is not installed"
    return f"needs the Python modules {' and '.join(map(repr, modules))}, which are not installed"


def install_command(contribution: Contribution, module: str) -> str:
    """Return the command that installs a module, through an extra of the plugin's package where one brings it."""
    top = module.partition(".")[0]
    extras = _extras_with(contribution.distribution, top)
    if not extras:
        return f"pip install {top}"
    command = f"pip install '{contribution.distribution}[{extras[0]}]'"
    others = ", ".join(f"[{extra}]" for extra in extras[1:])
    return f"{command} (or its extra {others})" if others else command


def _extras_with(distribution: str, module: str) -> list[str]:
    """Return the extras of a distribution with a requirement called like the module, or `MODULE-…`."""
    try:
        lines = metadata.requires(distribution) or []
    except Exception:  # noqa: BLE001  (no metadata, no advice)
        return []
    wanted = re.sub(r"[-_.]+", "-", module).lower()
    found: dict[str, None] = {}
    for line in lines:
        name = re.sub(r"[-_.]+", "-", re.split(r"[\s\[<>=!~;(]", line, maxsplit=1)[0]).lower()
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)['\"]", line)
        if extra and (name == wanted or name.startswith(f"{wanted}-")):
            found.setdefault(extra.group(1))
    return list(found)


def load(contribution: Contribution, factory_string: str | None = None) -> Any:
    """Import what a descriptor names.

    Args:
        contribution: Whose it is.
        factory_string: `"package.module:attribute"`; by default the descriptor's own factory or target.

    Returns:
        The attribute.

    Raises:
        PluginError: The import fails in whatever way, or the attribute is not there.
    """
    target = factory_string or getattr(contribution.spec, "factory", None) or contribution.spec.target
    module_name, _, attribute = target.partition(":")
    try:
        with contextlib.redirect_stdout(sys.stderr):  # stdout is for results
            value = importlib.import_module(module_name)
        for part in attribute.split("."):
            value = getattr(value, part)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _explain(contribution, target, error) from error
    return value


def _explain(contribution: Contribution, target: str, error: BaseException) -> PluginError:
    module_name = target.partition(":")[0]
    check = f"polycmp plugins check {contribution.plugin}"
    # A missing dependency is the user's to install; a missing module of its own is the plugin author's mistake.
    if isinstance(error, ModuleNotFoundError) and error.name and not f"{module_name}.".startswith(f"{error.name}."):
        return PluginError(
            lacks((error.name,)),
            whose=contribution.label,
            why=f"importing {module_name} failed",
            hint=install_command(contribution, error.name),
        )
    return PluginError(f"cannot load {target}", whose=contribution.label, why=describe_exception(error), hint=check)
