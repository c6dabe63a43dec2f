"""From the values of options to a plan and back: one table says where each of the core's own options goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from operator import attrgetter, not_
from typing import TYPE_CHECKING, Any

from polycmp.errors import UsageError
from polycmp.options import changed_options, find_field, make_options, option_fields
from polycmp.plan import BackendPlan, Choice, ComparePlan, DataPlan, FilesPlan, Plan
from polycmp.plan.flags import Key
from polycmp.plan.sections import SECTIONS
from polycmp.records import dataclass
from polycmp.values import dimension_text, join_pair, parse_dimensions, parse_shape_sets, spell, split_pair

if TYPE_CHECKING:
    from polycmp.plugins import Contribution, Registry


@dataclass(frozen=True)
class Settings:
    """Converted options.

    Attributes:
        core: An instance of each of the core's sections.
        by_owner: Values of plugins' options by kind and name; only those given.
    """

    core: Mapping[str, Any]
    by_owner: Mapping[tuple[str, str], Mapping[str, Any]]

    def of_kind(self, kind: str) -> dict[str, Mapping[str, Any]]:
        """Return the values of plugins' options of one kind by name."""
        return {owner: values for (of_kind, owner), values in self.by_owner.items() if of_kind == kind}


def settings_of(values: Mapping[Key, Any], sections: Mapping[str, type] = SECTIONS) -> Settings:
    """Return the values of options, those of the core in its sections.

    Raises:
        UsageError: A section refuses its values.
    """
    by_owner: dict[tuple[str, str], dict[str, Any]] = {}
    for key, value in values.items():
        by_owner.setdefault((key.kind, key.owner), {})[key.field] = value
    core = {
        owner: make_options(options, by_owner.pop(("core", owner), {}), "polycmp run")
        for owner, options in sections.items()
    }
    return Settings(core, by_owner)


def _same(value: Any) -> Any:
    return value


def _pairs(what: str, shape: str, texts: Iterable[str]) -> dict[str, str]:
    mapping = {}
    for text in texts:
        name, other = split_pair(text)
        if not (name and other):
            raise UsageError(f"--map-{what}: {text!r} is not {shape}")
        mapping[name] = other
    return mapping


def _pair_texts(mapping: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(join_pair(*pair) for pair in mapping.items())


@dataclass(frozen=True)
class Place:
    """Where an option of the core stands in a plan.

    Attributes:
        section: The option's section.
        option: The option.
        path: The attribute of the plan.
        into: Turns the option's value into the plan's.
        back: Turns the plan's value into the option's.
    """

    section: str
    option: str
    path: str
    into: Callable[[Any], Any] = _same
    back: Callable[[Any], Any] = _same


#: All of the core's options that a plan holds, but for three that belong to contributions or stand in two places: the
#: shapes, the data loader and the compare functions.
PLACES = (
    Place("model", "model_type", "model_kind"),
    Place("data", "data_loader_script", "data.script"),
    Place("data", "load_inputs", "data.files"),
    Place("data", "map_input", "data.map_input", partial(_pairs, "input", "NAME=REFERENCE"), _pair_texts),
    Place("data", "save_inputs", "files.save_inputs"),
    Place("data", "save_input_blob", "files.save_input_blob"),
    Place("run", "warm_up", "warm_up"),
    Place("run", "sequential_runners", "sequential"),
    Place("run", "use_subprocess", "subprocess"),
    Place("run", "timeout", "timeout"),
    Place("run", "max_memory", "max_memory"),
    Place("compare", "compare_func_script", "compare.script"),
    Place("compare", "tolerance", "compare.tolerance"),
    Place("compare", "reference", "compare.reference"),
    Place("compare", "map_output", "compare.map_output", partial(_pairs, "output", "CANDIDATE=REFERENCE"), _pair_texts),
    Place("compare", "no_shape_check", "compare.shape_check", not_, not_),
    Place("compare", "postprocess", "compare.postprocess"),
    Place("compare", "postprocess_func_script", "compare.postprocess_script"),
    Place("compare", "validate", "compare.validate"),
    Place("compare", "fail_fast", "compare.fail_fast"),
    Place("compare", "check_average", "compare.check_average"),
    Place("compare", "allow_blind", "compare.allow_blind"),
    Place("result", "report", "files.reports"),
    Place("result", "save_outputs", "files.save_outputs"),
    Place("result", "load_outputs", "files.load_outputs"),
)
SHAPES = Key("core", "data", "input_shapes")
DATA_LOADER = Key("core", "data", "data_loader")
COMPARE = Key("core", "compare", "compare")


def make_plan(
    model: str, backends: tuple[BackendPlan, ...], settings: Settings, registry: Registry, command: str = ""
) -> Plan:
    """Return the plan of a run.

    Raises:
        UsageError: Options contradict each other or their values cannot be right.
        PluginError: Something asked for by name is not there.
    """
    core = settings.core
    files = FilesPlan(**_placed(core, "files."))
    reports = report_options(settings, registry)
    return Plan(
        model=model,
        loader_options=loader_options(settings, registry),
        backends=backends,
        data=data_plan(settings, registry),
        compare=ComparePlan(
            functions=_functions(settings, registry),
            detail=bool(files.reports) or any(registry.find_report(name).spec.record for name in reports),
            **_placed(core, "compare."),
        ),
        files=files,
        report_options=reports,
        command=command,
        **_placed(core, ""),
    )


def _placed(core: Mapping[str, Any], part: str) -> dict[str, Any]:
    """Return the arguments of one part of a plan, named by its path with a dot; empty for the plan itself."""
    return {
        place.path.removeprefix(part): place.into(getattr(core[place.section], place.option))
        for place in PLACES
        if place.path.startswith(part) and "." not in place.path.removeprefix(part) and place.section in core
    }


def loader_options(settings: Settings, registry: Registry) -> dict[str, Any]:
    """Return an options instance per model loader that was given any but the defaults."""
    return _changed_instances(settings, "loader", registry.find_loader)


def report_options(settings: Settings, registry: Registry) -> dict[str, Any]:
    """Return an options instance per report that was given any but the defaults."""
    return _changed_instances(settings, "report", registry.find_report)


def _changed_instances(
    settings: Settings, kind: str, find: Callable[[str], Contribution], wanted: Callable[[Any], bool] = lambda _: True
) -> dict[str, Any]:
    instances = {
        name: make_options(find(name).spec.options, values, f"{kind.replace('_', ' ')} {name}")
        for name, values in settings.of_kind(kind).items()
        if wanted(find(name).spec)
    }
    return {name: options for name, options in instances.items() if changed_options(options)}


def data_plan(settings: Settings, registry: Registry) -> DataPlan:
    """Return where the inputs come from.

    Raises:
        PluginError: The data loader asked for is not there.
        UsageError: A shape cannot be one.
    """
    section = settings.core["data"]
    placed = _placed({"data": section}, "data.")
    if placed["script"] and section.data_loader_func_name:
        placed["script"] += f":{section.data_loader_func_name}"
    by_loader = settings.of_kind("data_loader")
    followers = _changed_instances(settings, "data_loader", registry.find_data_loader, lambda spec: spec.follows)
    idle = by_loader.keys() - followers.keys() - {section.data_loader}
    unused = [(name, field) for name in idle for field in by_loader[name]]
    if unused and not placed["script"] and not placed["files"]:
        name, field = unused[0]
        raise UsageError(
            f"the option {field.replace('_', '-')!r} of the data loader {name!r} would have no effect",
            why=f"the inputs come from the data loader {section.data_loader!r}",
            hint=f"leave it out, or choose --data-loader {name}",
        )
    shapes, *further = parse_shape_sets(section.input_shapes)
    options = _loader_of_data(section.data_loader, by_loader.get(section.data_loader, {}), len(further), registry)
    return DataPlan(
        loader=Choice(section.data_loader, options),
        input_shapes=shapes,
        further_shapes=tuple(further),
        dimensions=parse_dimensions(section.input_shapes),
        followers=followers,
        **placed,
    )


def _loader_of_data(name: str, given: Mapping[str, Any], further: int, registry: Registry) -> Any:
    """Return a data loader's options; several shapes make as many iterations, unless a number is given."""
    spec = registry.find_data_loader(name).spec
    if spec.follows:
        raise UsageError(f"--data-loader {name}: it makes no inputs, it goes on from those of others")
    options = spec.options
    if further and find_field(options, "iterations"):
        given = {"iterations": 1 + further, **given}
    return make_options(options, given, f"data loader {name}")


def _functions(settings: Settings, registry: Registry) -> tuple[Choice, ...]:
    loader, values = settings.core["data"].data_loader, settings.of_kind("compare_func")
    asked = settings.core["compare"].compare
    wanted = dict.fromkeys(name for given in asked for name in _group(given, registry))
    return tuple(Choice(name, _compare_options(name, values.get(name, {}), loader, registry)) for name in wanted)


def _group(name: str, registry: Registry) -> tuple[str, ...]:
    """Return the compare functions that a name stands for."""
    return tuple(key for key, item in registry.compare_funcs.items() if name in item.spec.groups) or (name,)


def _compare_options(name: str, given: Mapping[str, Any], loader: str, registry: Registry) -> Any:
    """Return a compare function's options: what the data loader suggests, then what was given."""
    spec = registry.find_compare_func(name).spec
    void = {suggested for suggested, by in spec.yields if by in given}
    suggestions = registry.find_data_loader(loader).spec.compare_defaults.get(name, {})
    chosen = {**{field: value for field, value in suggestions.items() if field not in void}, **given}
    return make_options(spec.options, chosen, f"compare function {name}")


def plan_values(plan: Plan, registry: Registry) -> dict[Key, Any]:
    """Return the option values from which `make_plan` makes a plan with other backends and another model.

    Raises:
        UsageError: The plan's shapes or settings are none that options can ask for.
        PluginError: Something that the plan names is not there.
    """
    values = _core_values(plan)
    for name, options in plan.loader_options.items():
        _add(values, "loader", name, changed_options(options))
    for name, options in plan.report_options.items():
        _add(values, "report", name, changed_options(options))
    for name, options in plan.data.followers.items():
        _add(values, "data_loader", name, changed_options(options))
    loader, further = plan.data.loader, len(plan.data.further_shapes)
    make = partial(_loader_of_data, loader.name, further=further, registry=registry)
    _add(values, "data_loader", loader.name, _asked(loader.options, make))
    for choice in plan.compare.functions:
        make = partial(_compare_options, choice.name, loader=loader.name, registry=registry)
        _add(values, "compare_func", choice.name, _asked(choice.options, make))
    return values


def section_values(owner: str, section: Any) -> dict[Key, Any]:
    """Return the option values of one of the core's sections that differ from the defaults."""
    return {Key("core", owner, name): value for name, value in changed_options(section).items()}


def _core_values(plan: Plan) -> dict[Key, Any]:
    found = {Key("core", place.section, place.option): place.back(attrgetter(place.path)(plan)) for place in PLACES}
    sizes = tuple(dimension_text(*item) for item in plan.data.dimensions.items())
    found[SHAPES] = sizes + _shape_texts((plan.data.input_shapes, *plan.data.further_shapes))
    found[DATA_LOADER] = plan.data.loader.name
    found[COMPARE] = tuple(choice.name for choice in plan.compare.functions)
    order = [Key("core", owner, item.name) for owner, options in SECTIONS.items() for item in option_fields(options)]
    defaults = {owner: options() for owner, options in SECTIONS.items()}
    return {key: found[key] for key in order if key in found and found[key] != getattr(defaults[key.owner], key.field)}


def _add(values: dict[Key, Any], kind: str, owner: str, given: Mapping[str, Any]) -> None:
    values.update({Key(kind, owner, name): value for name, value in given.items()})


def _asked(options: Any, make: Callable[[Mapping[str, Any]], Any]) -> dict[str, Any]:
    """Return what has to be given so that `make` returns the options: what is no default, or would be changed."""
    asked = changed_options(options)
    while options is not None:
        made = make(asked)
        wanted = {item.name: getattr(options, item.name) for item in option_fields(type(options))}
        missing = {name: value for name, value in wanted.items() if getattr(made, name) != value}
        if not missing.keys() - asked.keys():
            break
        asked.update(missing)
    return asked


def _shape_texts(sets: Iterable[Mapping[str, tuple[int, ...]]]) -> tuple[str, ...]:
    """Return the texts from which `parse_shape_sets` makes these sets."""
    by_name: dict[str, dict[tuple[int, ...], None]] = {}
    for shapes in sets:
        for name, shape in shapes.items():
            by_name.setdefault(name, {})[shape] = None
    return tuple(
        spell(f"[{','.join(map(str, shape))}]", name, named=True, inline=True)
        for name, shapes in by_name.items()
        for shape in shapes
    )


def without_written_files(plan: Plan) -> Plan:
    """Return a plan without the options that write files: what repeats a run must not overwrite what that left."""
    writing = {
        (owner, item.name) for owner, options in SECTIONS.items() for item in option_fields(options) if item.writes
    }
    parts: dict[str, dict[str, Any]] = {}
    for place in PLACES:
        if (place.section, place.option) in writing:
            part, _, name = place.path.rpartition(".")
            parts.setdefault(part, {})[name] = getattr(SECTIONS[place.section](), place.option)
    return replace(
        plan,
        **{part: replace(getattr(plan, part), **values) for part, values in parts.items()},
        loader_options={name: _writing_nothing(options) for name, options in plan.loader_options.items()},
        report_options={},
        backends=tuple(replace(item, options=_writing_nothing(item.options)) for item in plan.backends),
    )


def _writing_nothing(options: Any) -> Any:
    if options is None:
        return None
    return replace(options, **{item.name: item.default for item in option_fields(type(options)) if item.writes})
