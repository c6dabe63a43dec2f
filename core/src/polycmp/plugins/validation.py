"""Import one light module, call its hooks, and check what they give; any failure becomes a reason."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import re
import sys
from collections.abc import Iterable, Iterator
from functools import reduce
from types import ModuleType
from typing import Any

import pluggy

from polycmp.errors import describe_exception, did_you_mean
from polycmp.options.declared import is_frozen_dataclass
from polycmp.plugins.discovery import NAME_PATTERN, WORDS, Candidate, Contributed, Contribution, PluginRecord
from polycmp.plugins.names import flag_of
from polycmp.plugins.tools import IMPORT_STRING, make_tools
from polycmp.sentences import cut
from polycmp.spec import (
    ENTRY_POINT_GROUP,
    HOOKS,
    PURPOSES,
    SERVICES,
    CommandSpec,
    FormatSpec,
    Hooks,
    ReportSpec,
    RunnerSpec,
    ServiceSpec,
)

SUFFIX_PATTERN = re.compile(r"\.[a-z][a-z0-9_]*\Z")
RESERVED_KEYS = ("name", "model", "python", "ssh")
"""Keys of an instance (`-b NAME:KEY=VALUE`) that belong to the core."""


def _hooks() -> ModuleType:
    """Return the hooks and nothing else: pluggy looks at every attribute there is, and does so for each plugin."""
    hooks = ModuleType("hooks")
    for name in HOOKS:
        setattr(hooks, name, getattr(Hooks, name))
    return hooks


class _FaultError(Exception):
    """A reason why a plugin is broken."""


def validate(candidate: Candidate, manager: pluggy.PluginManager | None = None) -> PluginRecord:
    """Return the finished record of one candidate, importing its light module unless its metadata rules it out.

    Only `KeyboardInterrupt` gets out: a `SystemExit` in a plugin is the plugin's fault, not the end of the program.
    What the module prints goes to stderr, since stdout is for results.

    Args:
        candidate: The candidate, with what its metadata tells.
        manager: A manager without plugins, and without any afterwards; making one for each candidate takes time.
    """
    record = candidate.record
    if record.state != "ok":
        return record
    seen: list[Contribution] = []
    try:
        manager = manager or new_manager()
        with contextlib.redirect_stdout(sys.stderr), _registered(candidate, manager):
            for hook, descriptor in HOOKS.items():
                if not getattr(manager.hook, hook).get_hookimpls():
                    continue  # a plugin has one or two of them, and calling all would take longer than importing it
                seen.extend(
                    Contributed(spec, record.name, record.distribution, record.version)
                    for spec in _call(manager, hook, descriptor)
                )
        _check_duplicates(seen)
        _check_flags(seen)
    except KeyboardInterrupt:
        raise
    except _FaultError as fault:
        return dataclasses.replace(record, state="broken", reason=str(fault), withheld=tuple(seen))
    except BaseException as error:  # noqa: BLE001  (a plugin may raise anything at all)
        return dataclasses.replace(record, state="broken", reason=_one_line(error), withheld=tuple(seen))
    return dataclasses.replace(record, contributions=tuple(seen))


def _one_line(error: BaseException) -> str:
    return cut(describe_exception(error), 300)


def new_manager() -> pluggy.PluginManager:
    """Return a manager that knows the hooks and no plugin."""
    manager = pluggy.PluginManager(ENTRY_POINT_GROUP)
    manager.add_hookspecs(_hooks())
    return manager


@contextlib.contextmanager
def _registered(candidate: Candidate, manager: pluggy.PluginManager) -> Iterator[None]:
    """Import a plugin's light module and register it, alone: no call of one plugin can reach another."""
    try:
        module = _imported(candidate.record.module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _FaultError(f"cannot be imported: {_one_line(error)}") from error
    try:
        try:
            manager.register(module, candidate.record.name)
            manager.check_pending()
        except pluggy.PluginValidationError as error:
            hooks = {name: hook for name, hook in vars(manager.hook).items() if name[0] != "_"}
            unknown = [name for name, hook in hooks.items() if not hook.has_spec() and hook.get_hookimpls()]
            if unknown:
                raise _FaultError(f"unknown hook {unknown[0]!r}; {did_you_mean(unknown[0], HOOKS)}") from error
            raise _FaultError(f"a hook has the wrong form: {_one_line(error)}") from error
        yield
    finally:
        if manager.is_registered(module):
            manager.unregister(module)


def _imported(value: str) -> Any:
    """Import the object that an entry point names: `module`, or `module:attribute`; extras after it are ignored."""
    name, _, attributes = value.partition("[")[0].replace(" ", "").partition(":")
    return reduce(getattr, filter(None, attributes.split(".")), importlib.import_module(name))


def _call(manager: pluggy.PluginManager, hook: str, descriptor: type) -> Iterator[Any]:
    try:
        results = getattr(manager.hook, hook)()
        specs = [spec for result in results for spec in _as_iterable(result, hook, descriptor)]
    except (KeyboardInterrupt, _FaultError):
        raise
    except BaseException as error:
        raise _FaultError(f"its hook {hook} raises {_one_line(error)}") from error
    for spec in specs:
        if not isinstance(spec, descriptor):
            raise _FaultError(f"its hook {hook} gave {type(spec).__name__} instead of {descriptor.__name__}")
        _check_spec(spec, hook)
        yield spec


def _as_iterable(result: Any, hook: str, descriptor: type) -> Iterable[Any]:
    if isinstance(result, Iterable) and not isinstance(result, (str, bytes)):
        return result
    raise _FaultError(f"its hook {hook} returned one {type(result).__name__}; yield each {descriptor.__name__} instead")


def _check_spec(spec: Any, hook: str) -> None:
    if isinstance(spec, CommandSpec):
        if not spec.path or not all(re.fullmatch(r"[a-z][a-z0-9_-]*", str(word)) for word in spec.path):
            raise _FaultError(f"bad command path {spec.path!r}: a tuple of lower-case words")
        if spec.purpose not in PURPOSES:
            raise _FaultError(f"no purpose {spec.purpose!r} of a command; {did_you_mean(str(spec.purpose), PURPOSES)}")
    elif isinstance(spec, FormatSpec):
        _check_format(spec)
        return
    elif isinstance(spec, ReportSpec):
        _check_report(spec)
    elif isinstance(spec, ServiceSpec) and spec.name not in SERVICES:
        raise _FaultError(f"there is no use for a service {spec.name!r}; {did_you_mean(str(spec.name), SERVICES)}")
    elif not isinstance(spec.name, str) or not NAME_PATTERN.match(spec.name):
        raise _FaultError(f"bad name {spec.name!r} in {hook}: lower case, digits and underscores only")
    target = spec.target if isinstance(spec, CommandSpec) else spec.factory
    exports = isinstance(spec, ReportSpec) and not (spec.factory or spec.suffix)
    if not exports and (not isinstance(target, str) or not IMPORT_STRING.match(target)):
        raise _FaultError(f"{target!r} in {hook} is not of the form 'package.module:attribute'")
    _check_options(spec)
    tools = getattr(spec, "tools", "")
    if tools and (not isinstance(tools, str) or not IMPORT_STRING.match(tools)):
        raise _FaultError(f"{tools!r} in {hook} is not of the form 'package.module:attribute'")
    if not tools and (isinstance(spec, ReportSpec) or (isinstance(spec, RunnerSpec) and spec.former)):
        try:
            make_tools(spec, importlib.import_module)  # which imports nothing: there is no class
        except (TypeError, ValueError) as error:
            raise _FaultError(str(error)) from error


def _check_format(spec: FormatSpec) -> None:
    if not (isinstance(spec.suffix, str) and SUFFIX_PATTERN.match(spec.suffix)):
        raise _FaultError(f"bad suffix {spec.suffix!r} of a format: a dot, then lower case, digits and underscores")
    for target in (spec.reader, *([spec.writer] if spec.writer != "" else [])):
        if not isinstance(target, str) or not IMPORT_STRING.match(target):
            raise _FaultError(f"{target!r} in polycmp_formats is not of the form 'package.module:attribute'")


def _check_report(spec: ReportSpec) -> None:
    if spec.suffix and not (isinstance(spec.suffix, str) and SUFFIX_PATTERN.match(spec.suffix)):
        raise _FaultError(f"bad suffix {spec.suffix!r} of a report: a dot, then lower case, digits and underscores")
    if spec.suffix and spec.name:
        raise _FaultError(f"the report {spec.name!r} is called after its suffix {spec.suffix!r}; leave the name out")
    if not spec.suffix and not (isinstance(spec.name, str) and NAME_PATTERN.match(spec.name)):
        raise _FaultError(f"bad name {spec.name!r} of a report without suffix: lower case, digits and underscores only")


def _check_options(spec: Any) -> None:
    options = getattr(spec, "options", None)
    if options is None:
        return
    where = f"options of {spec.name or getattr(spec, 'suffix', '')!r}"
    if not isinstance(options, type) or not dataclasses.is_dataclass(options):
        raise _FaultError(f"{where}: not a dataclass but {options!r}")
    if not is_frozen_dataclass(options):
        raise _FaultError(f"{where}: the dataclass {options.__name__} is not frozen")
    for field in dataclasses.fields(options):
        if "help" not in field.metadata:
            raise _FaultError(f"{where}: the field {field.name!r} is not made with opt()")
        if not NAME_PATTERN.match(field.name):
            raise _FaultError(f"{where}: bad field name {field.name!r}")
        if isinstance(spec, RunnerSpec) and field.name in RESERVED_KEYS:
            raise _FaultError(f"{where}: the field {field.name!r} is a key that polycmp itself reads")
        for alias in field.metadata["alias"]:
            if not re.fullmatch(r"--?[A-Za-z][\w-]*", str(alias)):
                raise _FaultError(f"{where}: the alias {alias!r} is not a flag")


def _check_duplicates(contributions: Iterable[Contribution]) -> None:
    seen: set[tuple[str, str]] = set()
    for item in contributions:
        if (item.kind, item.name) in seen:
            raise _FaultError(f"it contributes the {WORDS[item.kind]} {item.name!r} twice")
        seen.add((item.kind, item.name))


def _check_flags(contributions: Iterable[Contribution]) -> None:
    owners: dict[str, Contribution] = {}
    for item in contributions:
        for field in option_fields(item):
            flag = flag_of(item.name, field)
            if flag in owners:
                other = owners[flag]
                raise _FaultError(f"clash of options: {flag} means both {other.label} and {item.label}")
            owners[flag] = item


def option_fields(item: Contribution) -> list[str]:
    """Return the field names of a contribution's options."""
    options = getattr(item.spec, "options", None)
    return [field.name for field in dataclasses.fields(options)] if options is not None else []
