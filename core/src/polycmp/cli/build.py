"""From option values to a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from polycmp.builtin import STRESS_COMPARE
from polycmp.cli.backends import plan_backends
from polycmp.cli.paths import refuse_collisions
from polycmp.cli.settings import SECTIONS
from polycmp.cli.table import FlagTable, Key, Target
from polycmp.errors import UsageError
from polycmp.options import find_field, make_options
from polycmp.plan import Choice, ComparePlan, DataPlan, FilesPlan, Plan
from polycmp.values import parse_shape_sets

if TYPE_CHECKING:
    from polycmp.plugins import Registry

Occurrences = Sequence[Sequence[str]]

#: Names that stand for several compare functions.
_COMPARE_GROUPS: Mapping[str, tuple[str, ...]] = {
    "distance_metrics": ("l2", "cosine_similarity"),
    "quality_metrics": ("psnr", "snr"),
}


@dataclass
class Given:
    """What somebody asked for, as text.

    Attributes:
        model: The model file.
        backends: The instances.
        values: For each option, the texts of each use of it.
        command: The command line.
    """

    model: str = ""
    backends: tuple[str, ...] = ()
    values: dict[Key, Occurrences] = field(default_factory=dict)
    command: str = ""


@dataclass(frozen=True)
class Settings:
    """Converted options.

    Attributes:
        core: An instance of each of the core's sections.
        by_owner: Values of plugins' options by kind and name; only those given.
    """

    core: Mapping[str, Any]
    by_owner: Mapping[tuple[str, str], Mapping[str, Any]]


def convert(given: Given, table: FlagTable, sections: Mapping[str, type] = SECTIONS) -> Settings:
    """Turn the texts into values.

    Raises:
        UsageError: A text cannot be its option's value.
    """
    values: dict[tuple[str, str], dict[str, Any]] = {}
    for key, occurrences in given.values.items():
        value = convert_one(table.targets[key], occurrences)
        values.setdefault((key.kind, key.owner), {})[key.field] = value
    core = {
        owner: make_options(options, values.pop(("core", owner), {}), "polycmp run")
        for owner, options in sections.items()
    }
    return Settings(core, values)


def convert_one(target: Target, occurrences: Occurrences) -> Any:
    """Turn the texts of one option into its value.

    Raises:
        UsageError: A text cannot be its value.
    """
    try:
        return target.field.convert(occurrences)
    except UsageError as error:
        raise UsageError(error.what, whose=target.flags[0], why=error.why, hint=error.hint) from None


def build_plan(given: Given, settings: Settings, registry: Registry) -> Plan:
    """Return the plan of a run.

    Raises:
        UsageError: Options contradict each other or their values cannot be right.
        PluginError: Something asked for by name is not there.
    """
    core = settings.core
    backends = plan_backends(given.backends, _of_kind(settings, "runner"), registry)
    plan = Plan(
        model=given.model,
        model_kind=core["model"].model_type,
        loader_options=loader_options(settings, registry),
        backends=backends,
        data=data_plan(settings, registry),
        compare=_compare(settings, registry),
        files=_files(settings),
        report_options=report_options(settings, registry),
        sequential=core["run"].sequential_runners,
        warm_up=core["run"].warm_up,
        subprocess=core["run"].use_subprocess,
        timeout=core["run"].timeout,
        max_memory=core["run"].max_memory,
        command=given.command,
    )
    _check(plan)
    refuse_collisions(settings, plan)
    return plan


def _check(plan: Plan) -> None:
    if not plan.backends and not plan.files.load_outputs:
        raise UsageError("no backend given", hint="polycmp run MODEL -b onnxrt -b onnx")
    if plan.backends and not plan.model and not all(backend.model for backend in plan.backends):
        raise UsageError("no model given", hint="polycmp run MODEL -b BACKEND (put the model first)")
    if plan.data.script and plan.data.files:
        raise UsageError("--data-loader-script and --load-inputs both say where inputs come from", hint="give one")


def unused_options(settings: Settings, plan: Plan, table: FlagTable) -> list[str]:
    """Return in words which options were given for backends that do not take part."""
    used = {backend.backend for backend in plan.backends}
    return [
        f"--{owner} is not among the backends, so nothing uses "
        + ", ".join(table.targets[Key("runner", owner, name)].flags[0] for name in values)
        for owner, values in _of_kind(settings, "runner").items()
        if owner not in used
    ]


def _of_kind(settings: Settings, kind: str) -> dict[str, Mapping[str, Any]]:
    return {owner: values for (of_kind, owner), values in settings.by_owner.items() if of_kind == kind}


def loader_options(settings: Settings, registry: Registry) -> dict[str, Any]:
    """Return an options instance per model loader that was given any."""
    return {
        name: make_options(registry.find_loader(name).spec.options, values, f"loader {name}")
        for name, values in _of_kind(settings, "loader").items()
    }


def report_options(settings: Settings, registry: Registry) -> dict[str, Any]:
    """Return an options instance per report that was given any."""
    return {
        name: make_options(registry.find_report(name).spec.options, values, f"report {name}")
        for name, values in _of_kind(settings, "report").items()
    }


def runner_options(settings: Settings, registry: Registry) -> dict[str, Any]:
    """Return an options instance per backend that was given any."""
    return {
        name: make_options(registry.find_runner(name).spec.options, values, f"backend {name}")
        for name, values in _of_kind(settings, "runner").items()
    }


def data_plan(settings: Settings, registry: Registry) -> DataPlan:
    """Return where the inputs come from.

    Raises:
        PluginError: The data loader asked for is not there.
        UsageError: A shape cannot be one.
    """
    data = settings.core["data"]
    script = data.data_loader_script
    if script and data.data_loader_func_name:
        script = f"{script}:{data.data_loader_func_name}"
    options = registry.find_data_loader(data.data_loader).spec.options
    by_loader = _of_kind(settings, "data_loader")
    values = by_loader.get(data.data_loader, {})
    unused = [(name, field) for name, given in by_loader.items() if name != data.data_loader for field in given]
    if unused and not script and not data.load_inputs:
        name, field = unused[0]
        raise UsageError(
            f"the option {field.replace('_', '-')!r} of the data loader {name!r} would have no effect",
            why=f"the inputs come from the data loader {data.data_loader!r}",
            hint=f"leave it out, or choose --data-loader {name}",
        )
    shapes, *further = parse_shape_sets(data.input_shapes)
    if further and find_field(options, "iterations"):
        values = {"iterations": 1 + len(further), **values}
    return DataPlan(
        loader=Choice(data.data_loader, make_options(options, values, f"data loader {data.data_loader}")),
        script=script,
        files=data.load_inputs,
        input_shapes=shapes,
        further_shapes=tuple(further),
    )


def _compare(settings: Settings, registry: Registry) -> ComparePlan:
    section, result = settings.core["compare"], settings.core["result"]
    values = _of_kind(settings, "compare_func")
    suggested = STRESS_COMPARE if settings.core["data"].data_loader == "stress" else {}
    functions = []
    wanted = (name for given in section.compare for name in _COMPARE_GROUPS.get(given, (given,)))
    for name in dict.fromkeys(wanted):
        options = registry.find_compare_func(name).spec.options
        given = values.get(name, {})
        chosen = {**suggested.get(name, {}), **given}
        if "atol" in given and "scale_atol" not in given:
            chosen.pop("scale_atol", None)  # who says a tolerance means that one
        functions.append(Choice(name, make_options(options, chosen, f"compare function {name}")))
    return ComparePlan(
        functions=tuple(functions),
        script=section.compare_func_script,
        reference=section.reference,
        map_output=_map_output(section.map_output),
        shape_check=not section.no_shape_check,
        postprocess=section.postprocess,
        postprocess_script=section.postprocess_func_script,
        validate=section.validate,
        fail_fast=section.fail_fast,
        check_average=section.check_average,
        detail=bool(result.report or result.save_accuracy_results),
    )


def _map_output(texts: Iterable[str]) -> dict[str, str]:
    mapping = {}
    for text in texts:
        candidate, equals, reference = text.partition("=")
        if not (equals and candidate and reference):
            raise UsageError(f"--map-output: {text!r} is not CANDIDATE=REFERENCE")
        mapping[candidate] = reference
    return mapping


def _files(settings: Settings) -> FilesPlan:
    data, result = settings.core["data"], settings.core["result"]
    return FilesPlan(
        save_inputs=data.save_inputs,
        save_outputs=result.save_outputs,
        save_input_blob=data.save_input_blob,
        load_outputs=result.load_outputs,
        reports=result.report,
        save_metrics=result.save_accuracy_results,
    )
