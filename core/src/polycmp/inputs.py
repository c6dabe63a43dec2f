"""The data source of a plan: saved files, a script, or a data loader, with the shapes asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from polycmp.errors import OthersCode, PluginError
from polycmp.plan import DataPlan
from polycmp.tensors import DataSource, Feed, FunctionSource, ModelDescription, Source, TensorMetadata
from polycmp.values import split_script

if TYPE_CHECKING:
    from polycmp.plugins import Registry


def make_source(plan: DataPlan, registry: Registry) -> DataSource:
    """Return what gives the plan's feeds for a model's inputs.

    Raises:
        PluginError: The data loader asked for is not there.
        DataError: The script cannot be imported.
        FileError: A file of inputs cannot be read.
    """
    inner = _inner_source(plan, registry)
    if plan.files or plan.script:
        return FunctionSource(inner)
    spec = registry.find_data_loader(plan.loader.name).spec
    shapes = (plan.input_shapes, *plan.further_shapes)

    def make(inputs: TensorMetadata) -> Iterable[Feed]:
        from polycmp.data.shapes import feeds_in_turn

        return feeds_in_turn(inner, inputs, shapes, others_become_1=not spec.sweeps_shapes)

    return FunctionSource(make, synthetic=spec.synthetic)


def with_ranges(source: DataSource, descriptions: Iterable[ModelDescription]) -> DataSource:
    """Return a data source that is also told which values the models take, where their files say so.

    A value must suit all of the models. A backend rarely knows this of its inputs, but a model's file shows which
    input is an index, and into how large a table.

    Args:
        source: The data source.
        descriptions: The models, as their files describe them.
    """
    ranges: dict[str, tuple[float, float]] = {}
    for description in descriptions:
        for name, entry in description.inputs.items():
            if entry.range is not None:
                low, high = ranges.get(name, entry.range)
                ranges[name] = max(low, entry.range[0]), min(high, entry.range[1])

    def told(inputs: TensorMetadata) -> Iterable[Feed]:
        known = {name: replace(entry, range=entry.range or ranges.get(name)) for name, entry in inputs.items()}
        return source(TensorMetadata(known))

    return FunctionSource(told, synthetic=source.synthetic) if ranges else source


def _inner_source(plan: DataPlan, registry: Registry) -> Source:
    if plan.files:
        from polycmp.results.files import open_inputs

        feeds = open_inputs(plan.files, registry)
        return lambda _inputs: feeds
    if plan.script:
        from polycmp.data.script import make_script_loader

        path, name = split_script(plan.script, "load_data")
        script: Source = make_script_loader(path, name)
        return script
    contribution = registry.find_data_loader(plan.loader.name)
    registry.require(contribution)
    factory = registry.load(contribution)
    with OthersCode(PluginError, "the data loader cannot be made", whose=contribution.label):
        return factory(plan.loader.options)
