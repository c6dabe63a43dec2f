"""Everything that a plugin's light module imports: markers, hooks, descriptors, `opt()`, `Verdict`; and Protocols.

A plugin is a module named by an entry point of the group `polycmp`. It implements hooks that take no argument, do no
work, and return descriptors; a descriptor names the heavy code as a string `"package.module:attribute"`, which the
core imports only when that code is really needed. The Protocols say what that code is given and must return.

At run time this package imports the standard library, pluggy, and two modules of the core that need no more:
`polycmp.options.values` and `polycmp.errors`.
"""

from __future__ import annotations

from polycmp.options.values import (
    check_at_least_one,
    check_values,
    parse_above_zero,
    parse_bool,
    parse_count,
    parse_named,
    parse_named_shapes,
    parse_range,
    parse_real,
    parse_shape,
    parse_size,
    parse_tolerance,
    split_script,
)
from polycmp.spec.descriptors import (
    SERVICES,
    CommandSpec,
    CompareFuncSpec,
    DataLoaderSpec,
    FormatSpec,
    LoaderSpec,
    ObserverSpec,
    PairingSpec,
    ReportSpec,
    RunnerSpec,
    ServiceSpec,
    Switch,
    ToleranceSpec,
    opt,
)
from polycmp.spec.hooks import ENTRY_POINT_GROUP, HOOKS, Hooks, hookimpl, hookspec
from polycmp.spec.interfaces import (
    IMPOSTORS,
    CommandTarget,
    Compared,
    CompareFactory,
    CompareFunction,
    DataLoader,
    DataLoaderFactory,
    DetailedCompareFactory,
    InputHints,
    LoaderFactory,
    ModelHandle,
    ModelLoaderFactory,
    RejudgingFunction,
    ReportFactory,
    RunnerFactory,
    RunObserver,
    SizeHint,
    Verdict,
)
from polycmp.spec.lazy import lazy_names

__all__ = [
    "ENTRY_POINT_GROUP",
    "HOOKS",
    "IMPOSTORS",
    "SERVICES",
    "CommandSpec",
    "CommandTarget",
    "CompareFactory",
    "CompareFuncSpec",
    "CompareFunction",
    "Compared",
    "DataLoader",
    "DataLoaderFactory",
    "DataLoaderSpec",
    "DetailedCompareFactory",
    "FormatSpec",
    "Hooks",
    "InputHints",
    "LoaderFactory",
    "LoaderSpec",
    "ModelHandle",
    "ModelLoaderFactory",
    "ObserverSpec",
    "PairingSpec",
    "RejudgingFunction",
    "ReportFactory",
    "ReportSpec",
    "RunObserver",
    "RunnerFactory",
    "RunnerSpec",
    "ServiceSpec",
    "SizeHint",
    "Switch",
    "ToleranceSpec",
    "Verdict",
    "check_at_least_one",
    "check_values",
    "hookimpl",
    "hookspec",
    "lazy_names",
    "opt",
    "parse_above_zero",
    "parse_bool",
    "parse_count",
    "parse_named",
    "parse_named_shapes",
    "parse_range",
    "parse_real",
    "parse_shape",
    "parse_size",
    "parse_tolerance",
    "split_script",
]
