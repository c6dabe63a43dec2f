"""From the values of options to a plan and back: one table says where each of the core's own options goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from functools import cache, partial
from operator import attrgetter, not_
from typing import TYPE_CHECKING, Any, NamedTuple

from polycmp.errors import UsageError
from polycmp.options import Key, OptionValues, changed_options, fields_of, find_field, make_options, option_fields
from polycmp.options.values import dimension_text, join_pair, parse_dimensions, parse_shape_sets, spell, split_pair
from polycmp.plan.backends import plan_backends
from polycmp.plan.plan import Choice, ComparePlan, DataPlan, FilesPlan, Plan
from polycmp.plan.sections import SECTIONS, LogSection

if TYPE_CHECKING:
    from polycmp.plugins import Contributed, Contribution, Registry
    from polycmp.spec import CompareFuncSpec, DataLoaderSpec, DataLoaderTools


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


class PlanLocation(NamedTuple):
    """Location of one of the core's options in a plan.

    Attributes:
        path: The attribute of the plan.
        into: Turns the option's value into the plan's.
        back: Turns the plan's value into the option's.
    """

    path: str
    into: Callable[[Any], Any] = _same
    back: Callable[[Any], Any] = _same


#: Options that the plan holds under another name or in another form, by section and option. An attribute of the same
#: name in the plan, or in a part of it, holds any other; an option without one concerns the command alone.
_ELSEWHERE = {
    ("model", "model_type"): PlanLocation("model_kind"),
    ("data", "data_loader_script"): PlanLocation("data.script"),
    ("data", "load_inputs"): PlanLocation("data.files"),
    ("data", "map_input"): PlanLocation("data.map_input", partial(_pairs, "input", "NAME=REFERENCE"), _pair_texts),
    ("run", "sequential_runners"): PlanLocation("sequential"),
    ("run", "use_subprocess"): PlanLocation("subprocess"),
    ("compare", "compare_func_script"): PlanLocation("compare.script"),
    ("compare", "map_output"): PlanLocation(
        "compare.map_output", partial(_pairs, "output", "CANDIDATE=REFERENCE"), _pair_texts
    ),
    ("compare", "no_shape_check"): PlanLocation("compare.shape_check", not_, not_),
    ("compare", "postprocess_func_script"): PlanLocation("compare.postprocess_script"),
    ("result", "report"): PlanLocation("files.reports"),
}
#: The options that become plans of their own: the shapes, the data loader and the compare functions.
SHAPES = Key("core", "data", "input_shapes")
DATA_LOADER = Key("core", "data", "data_loader")
COMPARE = Key("core", "compare", "compare")

_PARTS = {"": Plan, "data.": DataPlan, "compare.": ComparePlan, "files.": FilesPlan}


@cache
def _places() -> dict[tuple[str, str], PlanLocation]:
    """Map each of the core's options, by section and name, to its place in a plan."""
    attributes = {item.name: part + item.name for part, of in _PARTS.items() for item in fields(of)}
    places = {}
    for section, options in SECTIONS.items():
        for item in fields(options):
            if (section, item.name) in _ELSEWHERE:
                places[section, item.name] = _ELSEWHERE[section, item.name]
            elif item.name in attributes and Key("core", section, item.name) not in {SHAPES, DATA_LOADER, COMPARE}:
                places[section, item.name] = PlanLocation(attributes[item.name])
    return places


def make_plan(values: OptionValues, registry: Registry) -> Plan:
    """Return the plan of a run.

    Raises:
        UsageError: Options contradict each other or their values cannot be right.
        PluginError: Something asked for by name is not there.
    """
    backends = plan_backends(values.backends, values.of_kind("runner"), registry, values.wins, values.whose)
    files = FilesPlan(**_placed(values, "files."))
    data = data_plan(values, registry)
    observers = _changed_instances(values, "observer", registry.find_observer)
    return Plan(
        model=values.model,
        loader_options=loader_options(values, registry),
        backends=backends,
        data=data,
        compare=ComparePlan(
            functions=_functions(values, registry.tools(registry.data_loaders[data.loader.name]), registry),
            detail=bool(files.reports) or any(registry.observers[name].spec.detail for name in observers),
            **_placed(values, "compare."),
        ),
        files=files,
        report_options=report_options(values, registry),
        observer_options=observers,
        command=values.command,
        **_placed(values, ""),
    )


def _placed(values: OptionValues, part: str) -> dict[str, Any]:
    """Return the arguments of one part of a plan, named by its path with a dot; empty for the plan itself."""
    return {
        place.path.removeprefix(part): place.into(getattr(values.sections[section], option))
        for (section, option), place in _places().items()
        if place.path.startswith(part) and "." not in place.path.removeprefix(part)
    }


def loader_options(values: OptionValues, registry: Registry) -> dict[str, Any]:
    """Return an options instance per model loader that was given any but the defaults."""
    return _changed_instances(values, "loader", registry.find_loader)


def report_options(values: OptionValues, registry: Registry) -> dict[str, Any]:
    """Return an options instance per report that was given any but the defaults."""
    return _changed_instances(values, "report", registry.find_report)


def _changed_instances(
    values: OptionValues,
    kind: str,
    find: Callable[[str], Contribution],
    wanted: Callable[[Any], bool] = lambda _: True,
) -> dict[str, Any]:
    specs = {name: (find(name).spec, fields) for name, fields in values.of_kind(kind).items()}
    instances = {
        name: make_options(spec.options, fields, f"{kind.replace('_', ' ')} {name}")
        for name, (spec, fields) in specs.items()
        if wanted(spec)
    }
    return {name: options for name, options in instances.items() if changed_options(options)}


def data_plan(values: OptionValues, registry: Registry) -> DataPlan:
    """Plan the inputs: data loader, files, shapes and iterations.

    Raises:
        PluginError: The data loader asked for is not there.
        UsageError: A shape cannot be one.
    """
    section = values.sections["data"]
    placed = _placed(values, "data.")
    if placed["script"] and section.data_loader_func_name:
        placed["script"] += f":{section.data_loader_func_name}"
    by_loader = values.of_kind("data_loader")
    followers = _changed_instances(values, "data_loader", registry.find_data_loader, lambda spec: spec.follows)
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
    spec = registry.find_data_loader(section.data_loader).spec
    options = _loader_options(spec, by_loader.get(spec.name, {}), len(further))
    return DataPlan(
        loader=Choice(section.data_loader, options),
        input_shapes=shapes,
        further_shapes=tuple(further),
        dimensions=parse_dimensions(section.input_shapes),
        followers=followers,
        **placed,
    )


def _loader_options(spec: DataLoaderSpec, values: Mapping[str, Any], further: int) -> Any:
    """Return a data loader's options; several shapes make as many iterations, unless a number is given."""
    if spec.follows:
        raise UsageError(
            f"--data-loader {spec.name}: it makes no inputs of its own, but continues those of another data loader"
        )
    if further and find_field(spec.options, "iterations"):
        values = {"iterations": 1 + further, **values}
    return make_options(spec.options, values, f"data loader {spec.name}")


def _functions(values: OptionValues, loader: DataLoaderTools, registry: Registry) -> tuple[Choice, ...]:
    values_by_function = values.of_kind("compare_func")
    asked = values.sections["compare"].compare
    wanted = dict.fromkeys(name for group in asked for name in _group(group, registry))
    functions = [registry.find_compare_func(name) for name in wanted]
    return tuple(
        Choice(item.name, _compare_options(item, registry, values_by_function.get(item.name, {}), loader))
        for item in functions
    )


def _group(name: str, registry: Registry) -> tuple[str, ...]:
    """Return the compare functions with a name."""
    if name in registry.compare_funcs:
        return (name,)
    equipped = registry.equipped(registry.compare_funcs.values())
    return tuple(item.name for item, tools in equipped if name in tools.groups) or (name,)


def _compare_options(
    function: Contributed[CompareFuncSpec], registry: Registry, values: Mapping[str, Any], loader: DataLoaderTools
) -> Any:
    """Return a compare function's options: what the data loader suggests, then what was given."""
    spec = function.spec
    void = {suggested for suggested, by in registry.tools(function).yields if by in values}
    suggestions = loader.compare_defaults.get(spec.name, {})
    chosen = {**{field: value for field, value in suggestions.items() if field not in void}, **values}
    return make_options(spec.options, chosen, f"compare function {spec.name}")


def plan_values(plan: Plan, registry: Registry) -> dict[Key, Any]:
    """Return the option values from which `make_plan` makes a plan with other backends and another model.

    Raises:
        UsageError: The plan's shapes or settings are none that options can ask for.
        PluginError: Something that the plan names is not there.
    """
    values = core_values(plan)
    for name, options in plan.loader_options.items():
        _add(values, "loader", name, changed_options(options))
    for name, options in plan.report_options.items():
        _add(values, "report", name, changed_options(options))
    for name, options in plan.observer_options.items():
        _add(values, "observer", name, changed_options(options))
    for name, options in plan.data.followers.items():
        _add(values, "data_loader", name, changed_options(options))
    loader = registry.find_data_loader(plan.data.loader.name)
    make = partial(_loader_options, loader.spec, further=len(plan.data.further_shapes))
    _add(values, "data_loader", loader.name, _asked(plan.data.loader.options, make))
    for choice in plan.compare.functions:
        function = registry.find_compare_func(choice.name)
        make = partial(_compare_options, function, registry, loader=registry.tools(loader))
        _add(values, "compare_func", choice.name, _asked(choice.options, make))
    return values


def log_values(section: LogSection) -> dict[Key, Any]:
    """Return the option values of messages that differ from the defaults."""
    return {Key("core", "log", name): value for name, value in changed_options(section).items()}


def core_values(plan: Plan) -> dict[Key, Any]:
    """Return the values of the core's own options that differ from the defaults, in the order of the help text."""
    core = {Key("core", *option): place.back(attrgetter(place.path)(plan)) for option, place in _places().items()}
    sizes = tuple(dimension_text(*item) for item in plan.data.dimensions.items())
    core[SHAPES] = sizes + _shape_texts((plan.data.input_shapes, *plan.data.further_shapes))
    core[DATA_LOADER] = plan.data.loader.name
    core[COMPARE] = tuple(choice.name for choice in plan.compare.functions)
    order = [Key("core", owner, item.name) for owner, options in SECTIONS.items() for item in option_fields(options)]
    defaults = {owner: options() for owner, options in SECTIONS.items()}
    return {key: core[key] for key in order if key in core and core[key] != getattr(defaults[key.owner], key.field)}


def _add(values: dict[Key, Any], kind: str, owner: str, fields: Mapping[str, Any]) -> None:
    values.update({Key(kind, owner, name): value for name, value in fields.items()})


def _asked(options: Any, make: Callable[[Mapping[str, Any]], Any]) -> dict[str, Any]:
    """Return the minimal arguments from which `make` reproduces these options."""
    asked = changed_options(options)
    while options is not None:
        instance = make(asked)
        wanted = {item.name: getattr(options, item.name) for item in fields_of(options)}
        missing = {name: value for name, value in wanted.items() if getattr(instance, name) != value}
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
    parts: dict[str, dict[str, Any]] = {}
    for section, options in SECTIONS.items():
        for item in option_fields(options):
            if item.writes and not item.is_cache and (section, item.name) in _places():
                part, _, name = _places()[section, item.name].path.rpartition(".")
                parts.setdefault(part, {})[name] = item.default
    return replace(
        plan,
        **{part: replace(getattr(plan, part), **values) for part, values in parts.items()},
        loader_options={name: _writing_nothing(options) for name, options in plan.loader_options.items()},
        report_options={},
        observer_options={},
        backends=tuple(replace(item, options=_writing_nothing(item.options)) for item in plan.backends),
    )


def _writing_nothing(options: Any) -> Any:
    if options is None:
        return None
    written = [item for item in fields_of(options) if item.writes and not item.is_cache]
    return replace(options, **{item.name: item.default for item in written})
