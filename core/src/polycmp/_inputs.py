"""The data source of a plan: saved files, a script, or a data loader, with the shapes asked for."""

from __future__ import annotations

import copy
import dataclasses
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from polycmp.errors import OthersCode, PluginError, UsageError, did_you_mean
from polycmp.options import changed_options, fields_of
from polycmp.options.values import pick, split_script, unknown_names
from polycmp.plan import DataPlan
from polycmp.results import ALONE
from polycmp.tensors import DataSource, Feed, ModelDescription, Source, TensorMetadata, format_shape, is_size

if TYPE_CHECKING:
    from polycmp.plugins import Contributed, Registry
    from polycmp.spec import DataLoaderSpec, DataLoaderTools

_LOG = logging.getLogger("polycmp.data")
T = TypeVar("T")


class SizedInputs(NamedTuple):
    """Inputs whose open dimensions were given sizes, and what is known of them.

    Attributes:
        inputs: The inputs.
        note: In words, which sizes, and why.
        works: Whether a backend ran with them.
        outputs: Outputs of that backend for the feed that it was tried on; None if none was tried.
    """

    inputs: TensorMetadata
    note: str = ""
    works: bool = False
    outputs: Feed | None = None


#: Gives sizes to open dimensions; it may try them on a feed that its second argument makes for the inputs. Where the
#: data loader has `DataLoaderTools.sizes`, these are its third. With `only_demanded` it gives sizes, and limits, only
#: to dimensions of which the model's operators demand some.
ChooseSizes = Callable[..., SizedInputs]


class SampleFeeds(NamedTuple):
    """Inputs that reach the outputs of a model.

    Attributes:
        feeds: Gives the feeds for a model's inputs, whose dimensions may be open.
        notes: In words, what is fed, and why.
    """

    feeds: Source
    notes: tuple[str, ...]


#: Returns the names of the outputs that tell nothing of the model that made them.
Silent = Callable[[Mapping[str, Any]], Sequence[str]]


class SampleFinder(Protocol):
    """Finds real inputs where random ones do not reach the outputs."""

    def __call__(self, inputs: TensorMetadata, feed: Feed, iterations: int, silent: Silent, /) -> SampleFeeds | None:
        """Return inputs that reach more of the outputs; None to go on with those that were drawn.

        Args:
            inputs: The model's inputs, with the shapes that were asked for; others may be open.
            feed: The first feed that was drawn; some outputs for it tell nothing, or are not known.
            iterations: Number of feeds that are wanted.
            silent: Tells which outputs say nothing: a comparison of them is blind.
        """


class PlanSource(DataSource):
    """The feeds of a plan.

    Args:
        plan: The part of the plan on input data.
        registry: The plugins.

    Attributes:
        loader: The data loader; without use where files or a script give the feeds.

    Raises:
        PluginError: The data loader asked for is not there.
        DataError: The script cannot be imported.
        FileError: A file of inputs cannot be read.
    """

    def __init__(self, plan: DataPlan, registry: Registry) -> None:
        self.__name__ = "data_loader"  # scripts that are made of a plan call it so
        self._plan = plan
        self._registry = registry
        self._free = not (plan.files or plan.script)
        self.loader: Contributed[DataLoaderSpec] = registry.find_data_loader(plan.loader.name)
        self._make = self._made_by_loader(plan.loader.options) if self._free else _saved_source(plan, registry)
        self._declared: tuple[TensorMetadata, ...] = ()
        self._choose: ChooseSizes = _usual
        self._reach: SampleFinder | None = None
        self._silent: Silent = lambda outputs: []
        self._instead: Source | None = None
        self._tried: Feed | None = None
        self._notes: list[str] = []
        self._inputs = TensorMetadata()
        self._tools: DataLoaderTools = registry.tools(self.loader)
        self.synthetic: bool = self._free and self._tools.synthetic

    def with_descriptions(
        self,
        descriptions: Iterable[ModelDescription],
        choose: ChooseSizes | None = None,
        reach: SampleFinder | None = None,
        silent: Silent = lambda outputs: [],
    ) -> PlanSource:
        """Return the same source, which also knows the inputs that the models' files describe.

        A backend rarely knows which input is an index, and into how large a table, and some forget the names of
        dimensions.

        Args:
            descriptions: The models, as their files describe them.
            choose: Gives sizes to dimensions that stay open; by default those that suit their names.
            reach: Gives real inputs where those drawn do not reach the outputs.
            silent: Tells which outputs these are.
        """
        other = copy.copy(self)
        other._declared = tuple(item.inputs for item in descriptions)  # noqa: SLF001 - its own
        other._choose = choose or self._choose  # noqa: SLF001 - its own
        other._reach = reach if self._may_give_way() else None  # noqa: SLF001 - its own
        other._silent = silent  # noqa: SLF001 - its own
        other._notes = [*self._notes]  # noqa: SLF001 - its own
        return other

    def take(self, feeds: Iterable[Feed], label: str) -> None:
        """Give recorded feeds in place of what the data loader draws; those of files and scripts stay.

        Args:
            feeds: The feeds; can be passed over again.
            label: Label of the backend that shows the run in which they were recorded.
        """
        if self._free:
            self._make, self._free, self.synthetic = (lambda _: feeds), False, False
            self._note(f"those that were recorded with {label}")

    @property
    def notes(self) -> Sequence[str]:
        """Notes on the shapes that were chosen and the values that were drawn, with the reasons."""
        return tuple(self._notes)

    def suggestion(self) -> str:
        """Return shapes with which the model runs, where others were asked for, or what to give if it names none."""
        unknown = [name for name, entry in self._inputs.items() if entry.shape is None]
        missing = [name for name in unknown if pick(self._plan.input_shapes, name, None) is None]
        if missing:
            wanted = ", ".join(map(repr, missing))
            example = " ".join(f"{name}:[1,8]" for name in missing)
            return f"the model does not say the shape of {wanted}: give it, as --input-shapes {example}"
        if not (self._plan.input_shapes or self._plan.dimensions):
            return self._other_sizes()
        chosen = self._choose(self._inputs, self._first)
        names = [name for name, entry in self._inputs.items() if entry.shape != chosen.inputs[name].shape]
        shapes = " ".join(f"{name}:{format_shape(chosen.inputs[name].shape)}" for name in names)
        return f"it runs with --input-shapes {shapes}" if chosen.works and names else ""

    def _other_sizes(self) -> str:
        """Return the option to give where sizes were chosen without a trial; empty if none were."""
        is_noted = any("--input-shapes" in note for note in self._notes)
        open_ones = {name: entry.shape for name, entry in self._inputs.items() if entry.shape and entry.is_dynamic()}
        if not (self._free and open_ones) or is_noted:
            return ""
        shapes = " ".join(
            f"{name}:{format_shape(dim if is_size(dim) else 'N' for dim in shape)}" for name, shape in open_ones.items()
        )
        return f"if the sizes chosen here are why, give others for N: --input-shapes {shapes}"

    def _first(self, inputs: TensorMetadata) -> Feed:
        return next(iter(self._draw(inputs)))

    def _draw(self, inputs: TensorMetadata) -> Iterable[Feed]:
        """Call the data loader; its options may name inputs as any of the models does."""
        options = self._options(inputs)
        return (self._make if options is self._plan.loader.options else self._made_by_loader(options))(inputs)

    def _options(self, inputs: TensorMetadata) -> Any:
        """Return the data loader's options, in which the names of a mapping are those of some inputs."""
        options = self._plan.loader.options
        mappings = [item for item in fields_of(options) if item.kind == "mapping"]
        values_by_field = {item.name: getattr(options, item.name) for item in mappings}
        renamed = {name: self._by_own_names(inputs, values) for name, values in values_by_field.items()}
        return options if renamed == values_by_field else dataclasses.replace(options, **renamed)

    def __call__(self, inputs: TensorMetadata) -> Iterable[Feed]:
        """Return the feeds for a model's inputs; whether they reach the outputs is tried on the quickest backend."""
        feeds = self.initial_feeds(inputs)
        if self._reach is None:
            return feeds
        iterator = iter(feeds)
        first = next(iterator, None)
        if first is None:
            return ()
        others = self.alternative_feeds(inputs, first, self._tried)
        return chain([first], iterator) if others is None else others

    def initial_feeds(self, inputs: TensorMetadata) -> Iterable[Feed]:
        """Return the feeds for a caller that runs the first of them and then asks for `alternative_feeds`."""
        from polycmp.data.shapes import feeds_in_turn

        merged = self._merged(inputs)
        if not self._free:
            feed_names = {input_name: name for names in self._other_names(merged) for input_name, name in names.items()}
            return RenamedFeeds(self._make(merged), self._plan.map_input, merged, feed_names)
        self._inputs = merged
        if self._instead is not None:
            return self._instead(self._asked(merged))
        shapes = [self._by_own_names(merged, item) for item in (self._plan.input_shapes, *self._plan.further_shapes)]
        return feeds_in_turn(self._draw, merged, shapes, dimensions=self._dimensions(merged), fill=self._fill)

    def alternative_feeds(self, inputs: TensorMetadata, feed: Feed, outputs: Feed | None) -> Iterable[Feed] | None:
        """Return real inputs where those that were drawn do not reach the outputs; None to go on.

        Args:
            inputs: The model's inputs.
            feed: The first feed.
            outputs: Outputs of the reference for the first feed; None to run it here.
        """
        reach, self._reach = self._reach, None
        if reach is None or (outputs is not None and not self._silent(outputs)):
            return None
        asked = self._asked(self._merged(inputs))
        samples = reach(asked, feed, self._plan.iterations, self._silent)
        if samples is None:
            return None
        self._instead, self._notes = samples.feeds, list(samples.notes)
        return samples.feeds(asked)

    def _may_give_way(self) -> bool:
        """Return whether the data loader leaves its place to real samples, and no values to draw were asked for."""
        if not self._free or self._plan.further_shapes:
            return False
        options = self._tools.gives_way
        return options is not None and not set(changed_options(self._plan.loader.options)).intersection(options)

    def _merged(self, inputs: TensorMetadata) -> TensorMetadata:
        """Merge the input metadata of a backend and of the models' files."""
        from polycmp.data.dimensions import merge_inputs

        described = (
            TensorMetadata({name: part[name] for name in inputs if name in part}) for part in self._parts(inputs)
        )
        return merge_inputs([inputs, *described])

    def _parts(self, inputs: TensorMetadata) -> list[TensorMetadata]:
        """Return the inputs of each model's file by the names that they have in a feed."""
        from polycmp.data.input_pairs import renamed

        return [renamed(part, names) for part, names in zip(self._declared, self._other_names(inputs), strict=True)]

    def _other_names(self, inputs: TensorMetadata) -> Sequence[Mapping[str, str]]:
        """Return for each model's file the names that its inputs have in a feed, where it calls them otherwise."""
        from polycmp.data.input_pairs import pair_inputs

        return [pair_inputs(part, inputs, self._plan.map_input).names for part in self._declared]

    def _by_own_names(self, inputs: TensorMetadata, values: Mapping[str, T]) -> Mapping[str, T]:
        """Return values by the names of a feed, where they were given by those of another model."""
        if not values or not unknown_names(values, inputs):
            return values
        from polycmp.data.names import by_names_of

        return by_names_of(inputs, values, self._other_names(inputs))

    def _dimensions(self, inputs: TensorMetadata) -> Mapping[str, int]:
        """Return sizes by the names of a feed's dimensions, where they were given by those of another model."""
        from polycmp.data.names import dimensions_of

        return dimensions_of(inputs, self._plan.dimensions, self._parts(inputs)) if self._plan.dimensions else {}

    def _asked(self, inputs: TensorMetadata) -> TensorMetadata:
        from polycmp.data.shapes import apply_input_shapes

        shapes = self._by_own_names(inputs, self._plan.input_shapes)
        return apply_input_shapes(inputs, shapes, self._dimensions(inputs))

    def _fill(self, inputs: TensorMetadata) -> TensorMetadata:
        tools = self._tools
        if tools.sweeps_shapes:
            if "sizes" in changed_options(self._plan.loader.options):
                return inputs
            demanded = self._choose(inputs, self._first, only_demanded=True)
            self._note(demanded.note)
            return demanded.inputs
        chosen = self._choose(inputs, self._first, *([tools.sizes] if tools.sizes else []))
        self._tried = chosen.outputs
        self._note(chosen.note)
        with OthersCode(PluginError, "its remarks cannot be read", whose=self.loader.spec.name):
            drawn = tools.remarks(self._options(chosen.inputs), chosen.inputs)
        for text in dict.fromkeys(drawn.values()):
            self._note(f"{', '.join(name for name, remark in drawn.items() if remark == text)}: {text}")
        return chosen.inputs

    def _made_by_loader(self, options: Any) -> Source:
        self._registry.require(self.loader)
        factory = self._registry.load(self.loader)
        with OthersCode(PluginError, "the data loader cannot be made", whose=self.loader.label):
            return factory(options)

    def _note(self, text: str) -> None:
        if text and text not in self._notes:
            self._notes.append(text)
            _LOG.debug("inputs: %s", text)


class RenamedFeeds:
    """Feeds in which arrays have the names of a model's inputs; can be passed over as often as those given.

    Args:
        feeds: The feeds.
        names: Names in the feeds to names of the model's; where a feed holds the latter alone, the former are another
            model's for the same input.
        inputs: The model's inputs: what a feed calls like one of them stays, too. An array without a name that is all
            there is, as in a `.npy` file, is the input if there is no other.
        theirs: Names of other models' inputs to names of this one's; for feeds that hold the former alone.
    """

    def __init__(
        self,
        feeds: Iterable[Feed],
        names: Mapping[str, str],
        inputs: TensorMetadata | None = None,
        theirs: Mapping[str, str] | None = None,
    ) -> None:
        self._feeds, self._names, self._inputs, self._theirs = feeds, names, frozenset(inputs or ()), dict(theirs or {})
        needed = [name for name, entry in (inputs or {}).items() if not entry.optional]
        self._only_input = needed[0] if len(needed) == 1 else ""

    def __iter__(self) -> Iterator[Feed]:
        for given_feed in self._feeds:
            loaded = given_feed
            if self._only_input and list(loaded) == [ALONE]:
                loaded = {self._only_input: loaded[ALONE]}
            moved = {
                name: input_name
                for input_name, name in self._theirs.items()
                if input_name in loaded and name not in loaded
            }
            feed = {**loaded, **{name: loaded[input_name] for name, input_name in moved.items()}} if moved else loaded
            for source_name, name in self._names.items():
                if source_name not in feed and name not in feed:
                    raise UsageError(
                        f"--map-input: there is no input {source_name!r}", why=did_you_mean(source_name, feed)
                    )
            kept = {name: feed[name] for name in feed if name not in self._names or name in self._inputs}
            yield {**kept, **{name: feed[source] for source, name in self._names.items() if source in feed}}


def renamed_source(source: Source, names: Mapping[str, str], theirs: Mapping[str, str] | None = None) -> Source:
    """Return a source whose feeds have other names; the source itself if there are none to change.

    Args:
        source: The source.
        names: As for `RenamedFeeds`.
        theirs: As for `RenamedFeeds`.
    """
    return (lambda inputs: RenamedFeeds(source(inputs), names, inputs, theirs)) if names or theirs else source


def asked_shapes(
    plan: DataPlan, description: ModelDescription | None, others: Iterable[ModelDescription | None] = ()
) -> Mapping[str, tuple[int, ...]]:
    """Return the shapes that a plan asks for, with those that follow from dimensions of the same name.

    Args:
        plan: The plan.
        description: The model, as its file describes it; None if that is not known.
        others: All models of the run, whose names the plan may use for the same inputs and dimensions.

    Raises:
        UsageError: The shapes contradict the model, or each other.
    """
    if description is None or not (plan.input_shapes or plan.dimensions):
        return plan.input_shapes
    from polycmp.data.input_pairs import pair_inputs, renamed
    from polycmp.data.names import by_names_of, dimensions_of
    from polycmp.data.shapes import apply_input_shapes

    model_inputs = description.inputs
    other_inputs = [item.inputs for item in others if item is not None]
    names = [pair_inputs(inputs, model_inputs, plan.map_input).names for inputs in other_inputs]
    shapes = by_names_of(model_inputs, plan.input_shapes, names)
    input_shapes = {name: shape for name, shape in shapes.items() if not unknown_names([name], model_inputs)}
    parts = [renamed(inputs, pairs) for inputs, pairs in zip(other_inputs, names, strict=True)]
    sizes = dimensions_of(model_inputs, plan.dimensions, parts)
    foreign = {dim for inputs in other_inputs for entry in inputs.values() for dim in entry.shape or ()}
    foreign -= {dim for entry in model_inputs.values() for dim in entry.shape or ()}
    shaped = apply_input_shapes(
        model_inputs, input_shapes, {name: size for name, size in sizes.items() if name not in foreign}
    )
    follow = {
        name: shaped[name].static_shape()
        for name, entry in model_inputs.items()
        if entry.is_dynamic() and not shaped[name].is_dynamic()
    }
    return {**follow, **shapes}


def _usual(
    inputs: TensorMetadata, _feed: Callable[[TensorMetadata], Feed], *, only_demanded: bool = False
) -> SizedInputs:
    from polycmp.data.shapes import usual_sizes

    if only_demanded:
        return SizedInputs(inputs)
    sized = usual_sizes(inputs)
    shapes = " ".join(
        f"{n}:{format_shape(sized[n].shape)}" for n, entry in inputs.items() if entry.shape != sized[n].shape
    )
    return SizedInputs(sized, f"{shapes}, the default where a model leaves dimensions open" if shapes else "")


def _saved_source(plan: DataPlan, registry: Registry) -> Source:
    """Return the source of feeds from files, or from a script if there are none."""
    if plan.files:
        from polycmp.results.files import open_inputs

        feeds = open_inputs(plan.files, registry)
        return lambda _inputs: feeds
    from polycmp.data.script import make_script_loader

    path, name = split_script(plan.script, "load_data")
    script: Source = make_script_loader(path, name)
    return script
