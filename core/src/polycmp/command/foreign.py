"""Options of what is not installed, or what nobody provides yet: an answer instead of 'no such option'."""

from __future__ import annotations

from polycmp.errors import PluginError
from polycmp.plugins import Registry
from polycmp.plugins.known import DATA_LOADERS, FLAGS_NOT_YET, INSTALL_COMMANDS, NOT_YET, OPTIONS_OF_REPORTS


def explain_missing(flag: str, registry: Registry) -> None:
    """Raise for a flag that belongs to a plugin which is not there; return for any other.

    Raises:
        PluginError: Which package brings the flag, or that none does yet.
    """
    name = flag.removeprefix("--").replace("-", "_")
    if flag in FLAGS_NOT_YET:
        backend, what = FLAGS_NOT_YET[flag]
        raise PluginError(f"{flag} {what}", hint=f"polycmp plugins new {backend} writes the package to begin with")
    report, command = OPTIONS_OF_REPORTS.get(flag, ("", ""))
    if report and report not in registry.reports:
        raise PluginError(f"{flag} is an option of the report {report!r}, which is not installed", hint=command)
    if name in NOT_YET or name in INSTALL_COMMANDS:
        registry.find_runner(name)
    installed = {item.name for item in registry.contributions if item.kind in {"runner", "data_loader"}}
    for what, packages in (("backend", INSTALL_COMMANDS), ("data loader", DATA_LOADERS)):
        for owner, command in packages.items():
            if name.startswith(f"{owner}_") and owner not in installed:
                raise PluginError(f"{flag} is an option of the {what} {owner!r}, which is not installed", hint=command)
