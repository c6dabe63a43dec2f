"""The model given on the command line, and how to turn it into what a runner accepts."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from polycmp.errors import ModelError, OthersCode, did_you_mean
from polycmp.files import refuse_pipe
from polycmp.loader import Loader
from polycmp.options.values import split_script
from polycmp.tensors import DataSource, ModelDescription

if TYPE_CHECKING:
    from polycmp.graph import ModelGraph
    from polycmp.plugins import Contributed, Registry
    from polycmp.spec import InputHints, LoaderSpec, LoaderTools, ModelLoaderFactory, RunnerSpec

__all__ = ["Model", "ModelSettings"]

_UNWRITTEN = "a part of it cannot be written"


@dataclass(frozen=True)
class ModelSettings:
    """Settings for models in general, from the command line.

    Attributes:
        loader_options: An options instance per loader name; a missing one means defaults.
        input_shapes: Shapes asked for by `--input-shapes`.
        data_source: The data loader of this run, for backends that calibrate.
        kind: The kind of the model file, where its suffix does not tell.
        backend_options: An options instance per backend, for loaders that share a backend's options.
    """

    loader_options: Mapping[str, Any] = field(default_factory=dict)
    input_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    data_source: DataSource | None = None
    kind: str = ""
    backend_options: Mapping[str, Any] = field(default_factory=dict)


class Model:
    """One model file, and every form of it that the installed loaders can make.

    Args:
        path: The file; a Python file may name a function after a colon.
        registry: The plugins to look in.
        settings: Settings for models from the command line; None for the defaults.

    Attributes:
        registry: The plugins.
        settings: Settings for models from the command line; None for the defaults.
        path: The file, without the function's name.
        kind: Kind of model in the file, as its loader calls it.
        input_shapes: Shapes asked for by `--input-shapes`.
        data_loader: The data loader of this run, called with the inputs' metadata; None if there is none.

    Raises:
        ModelError: There is no such file, or no loader, or more than one, for it.
        FileError: It is a named pipe or a device.
    """

    def __init__(self, path: str, registry: Registry, settings: ModelSettings | None = None) -> None:
        self.registry = registry
        self.settings: ModelSettings = settings or ModelSettings()
        self.source = path
        self.path: str = split_script(path, "")[0] if not Path(path).exists() else path
        self.input_shapes: Mapping[str, tuple[int, ...]] = self.settings.input_shapes
        self.data_loader: DataSource | None = self.settings.data_source
        if not Path(self.path).exists():
            raise ModelError(f"no such model file: {self.path}", hint=_neighbours(Path(self.path)))
        refuse_pipe(Path(self.path))
        self._reader = self._find_reader()
        self._reading = self._new_reading()
        self._loader: Loader[Any] | None = None
        self.kind: str = self._reader.spec.kind

    def load(self, kind: str) -> Loader[Any]:
        """Return a loader that makes this model as `kind`, converting where it must.

        Raises:
            ModelError: No installed loader makes that kind from this file.
        """
        if kind == self.kind:
            return self._loader or self._reading.loader
        for contribution in self.registry.loaders.values():
            spec = contribution.spec
            if spec.kind == kind and self.kind in spec.consumes:
                return self._make(contribution, self.load(self.kind))
        raise ModelError(
            f"cannot convert {self.path} ({self.kind}) to {kind}",
            why=f"no installed loader makes {kind} from {self.kind}",
            hint=self.registry.tools(self._reader).other_tools(self.path, kind) or "polycmp plugins list",
        )

    def can_load(self, kinds: Iterable[str]) -> bool:
        """Return whether one of the kinds can be made from this file."""
        wanted = set(kinds)
        return self.kind in wanted or any(
            item.spec.kind in wanted and self.kind in item.spec.consumes for item in self.registry.loaders.values()
        )

    def describe(self) -> ModelDescription | None:
        """Return the names, types and shapes of inputs and outputs, read without loading weights.

        None if the loader cannot tell without loading everything.

        Raises:
            ModelError: The file cannot be read.
        """
        return self._reading.description

    def describe_file(self) -> ModelDescription | None:
        """Describe the file itself, whatever the loader's options make of it.

        Raises:
            ModelError: The file cannot be read.
        """
        plain = replace(self.settings, loader_options={}, backend_options={})
        return self.describe() if plain == self.settings else Model(self.source, self.registry, plain).describe()

    @property
    def structure(self) -> Callable[[], Any] | None:
        """Returns the model as its loader's `structure` reads it, which it does once; None if the loader has none."""
        return self._reading.structure

    def files(self) -> tuple[str, ...]:
        """Return the paths of the further files that the model's file refers to, as its loader reads them.

        Raises:
            ModelError: The file cannot be read.
        """
        with self._using("cannot be read") as tools:
            return tuple(tools.files(self.path))

    def hints(self) -> InputHints | None:
        """Return the constraints that operators put on the model's inputs; None if its loader cannot tell.

        Raises:
            ModelError: The file cannot be read.
        """
        if self.is_part:
            return None
        with self._using("cannot be read") as tools:
            return tools.hints(self.structure or self.source, self._options(self._reader))

    def graph(self) -> ModelGraph | None:
        """Return the model, as the loader's options make it, as a graph; None if its loader has no view of it.

        It is made once, so that what is known of it is found out once.

        Raises:
            ModelError: The file cannot be read.
        """
        return self._part_graph if self.is_part else self._reading.graph

    def shown_graph(self) -> ModelGraph:
        """Return the model as a graph, as `graph` does.

        Raises:
            ModelError: The file cannot be read, or its loader has no view of it.
        """
        graph = self.graph()
        if graph is None:
            raise ModelError(f"the loader of {self.kind} models does not show their operators", whose=self.path)
        return graph

    @cached_property
    def _part_graph(self) -> ModelGraph | None:
        with self._using("cannot be read") as tools:
            return tools.graph(self.load(self.kind))

    def joiner(self) -> Callable[[Mapping[str, Loader[Any]]], Loader[Any]] | None:
        """Return the function that joins parts into one model, by prefix; None if the model's loader has none."""
        return self.registry.tools(self._reader).join

    def part(self, loader: Loader[Any], *, same_inputs: bool = False) -> Model:
        """Return the model with another loader of its kind in its place, for example of a part.

        Args:
            loader: Makes it.
            same_inputs: Whether it has the model's own inputs, so that what is known of them holds.
        """
        part = copy.copy(self)
        part._loader = loader  # noqa: SLF001 - its own
        part.__dict__.pop("_part_graph", None)
        if not same_inputs:
            part.input_shapes = {}
            part.data_loader = None
        return part

    def for_backend(self, spec: RunnerSpec, options: Any) -> Model:
        """Return the model as loaders make it that take a backend's options; itself where that changes nothing.

        Args:
            spec: The backend.
            options: The options of one of its instances; None for the defaults.
        """
        sharing = [
            loader
            for loader, tools in self.registry.equipped(self._loaders_for(spec.accepts))
            if tools.options_of == spec.name
        ]
        changes = bool(sharing) and options is not None and spec.options is not None and options != spec.options()
        backend_options = {spec.name: options} if changes else {}
        former = self.settings.backend_options
        if backend_options == former:
            return self
        variant = copy.copy(self)
        variant.settings = replace(self.settings, backend_options=backend_options)
        if self.registry.tools(self._reader).options_of in {*backend_options, *former} and not self.is_part:
            variant._reading = variant._new_reading()  # noqa: SLF001 - its own
        return variant

    def _loaders_for(self, kinds: Iterable[str]) -> list[Contributed[LoaderSpec]]:
        """Return the loader of the file, and those that make one of some kinds of it."""
        others = (item for item in self.registry.loaders.values() if item is not self._reader)
        return [self._reader, *(item for item in others if item.spec.kind in kinds and self.kind in item.spec.consumes)]

    @property
    def is_part(self) -> bool:
        """Whether this is a part of a model, or a model that was put in its place."""
        return self._loader is not None

    def save(self, loader: Loader[Any], path: str) -> None:
        """Write the model that a loader of this kind makes to a file.

        Raises:
            ModelError: The model's loader cannot write.
        """
        self._check_saves()
        with self._using(_UNWRITTEN) as tools:
            if tools.save is not None:
                tools.save(loader, path)

    def save_verified(self, loader: Loader[Any], path: str) -> tuple[str, ...]:
        """Write a file made of this model for the user to keep, once it is known to be as good as the model.

        Args:
            loader: Makes it; of this model's kind.
            path: The file to write.

        Returns:
            The checks that passed, in a few words each; none where the model's loader cannot tell.

        Raises:
            ModelError: Something is wrong with it that is not wrong with the model, or the model's loader cannot write.
        """
        self._check_saves()
        with self._using(_UNWRITTEN) as tools:
            return tuple(tools.save_verified(loader, path, original=self.load(self.kind), registry=self.registry))

    def save_draft(self, loader: Loader[Any], path: str, weights: str, *, whole: bool) -> None:
        """Write a file that is read once and then removed, as `LoaderTools.draft` describes; errors as in `save`."""
        self._check_saves()
        with self._using(_UNWRITTEN) as tools:
            tools.draft(loader, path, weights, whole=whole)

    def _check_saves(self) -> None:
        if self.registry.tools(self._reader).save is None:
            raise ModelError(f"models of kind {self.kind} cannot be written", whose=self._reader.label)

    def _new_reading(self) -> _Reading:
        using, make = partial(self._using, "cannot be read"), partial(self._make, self._reader, self.source)
        return _Reading(self.source, make, using, partial(self._options, self._reader))

    @contextmanager
    def _using(self, failing: str) -> Iterator[LoaderTools]:
        """Give the tools of the file's loader, and say of what they raise that something failed."""
        tools = self.registry.tools(self._reader)
        with OthersCode(ModelError, failing, whose=self.path), self.registry.explained(self._reader):
            yield tools

    def _make(self, contribution: Contributed[LoaderSpec], source: Any) -> Loader[Any]:
        self.registry.require(contribution)
        factory, options = self.registry.load(contribution), self._options(contribution)
        if self.registry.tools(contribution).takes_model:
            return cast("ModelLoaderFactory", factory)(source, options, model=self)
        return factory(source, options)

    def _options(self, contribution: Contributed[LoaderSpec]) -> Any:
        backend = self.registry.tools(contribution).options_of
        if backend:
            instance = self.settings.backend_options.get(backend)
            options = self.registry.find_runner(backend).spec.options
        else:
            instance = self.settings.loader_options.get(contribution.spec.name)
            options = contribution.spec.options
        return instance if instance is not None or options is None else options()

    def _find_reader(self) -> Contributed[LoaderSpec]:
        readers = [item for item in self.registry.loaders.values() if item.spec.suffixes or item.spec.folder_marks]
        if self.settings.kind:
            return _by_kind(readers, self.settings.kind, self.registry)
        path = Path(self.path)
        claims = [item for item in readers if item.spec.reads(path)]
        if len(claims) == 1:
            return claims[0]
        if claims:
            raise ModelError(
                f"several loaders read {path}: {', '.join(sorted(item.spec.name for item in claims))}",
                hint="choose one with --model-type NAME",
            )
        from polycmp.plugins.known import explain_model

        suffixes = sorted(
            {
                name
                for item in readers
                for name in (item.spec.folder_marks if path.is_dir() else item.spec.file_suffixes)
            }
        )
        what = "folders known by a file in them" if path.is_dir() else "files known by their suffix"
        raise ModelError(
            f"no installed loader reads {path}",
            why=f"{what}: {', '.join(suffixes) or 'none'}",
            hint=explain_model(path) or "give --model-type NAME, or install the plugin that reads it",
        )


class _Reading:
    """What is read of a file, once for all models whose loader of the file has the same options.

    Args:
        source: The file, as its loader takes it.
        make: Makes the loader.
        using: Gives the loader's tools, and says of what they raise that the file cannot be read.
        options: Returns the loader's options.
    """

    def __init__(
        self,
        source: str,
        make: Callable[[], Loader[Any]],
        using: Callable[[], AbstractContextManager[LoaderTools]],
        options: Callable[[], Any],
    ) -> None:
        self._source, self._make, self._using, self._options = source, make, using, options

    @cached_property
    def loader(self) -> Loader[Any]:
        """The loader, which keeps what it has read."""
        return self._make()

    @cached_property
    def structure(self) -> Callable[[], Any] | None:
        """Returns the model as the loader's `structure` reads it, once; None if the loader has none."""
        with self._using() as tools:
            read = tools.structure
        return None if read is None else cache(partial(read, self._source))

    @cached_property
    def description(self) -> ModelDescription | None:
        """The inputs and outputs; None if the loader cannot tell without loading everything."""
        with self._using() as tools:
            return tools.describe(self.structure or self._source, self._options())

    @cached_property
    def graph(self) -> ModelGraph | None:
        """The graph; None if the loader has no view of it."""
        with self._using() as tools:
            return tools.graph(self.loader)


def _by_kind(readers: list[Contributed[LoaderSpec]], kind: str, registry: Registry) -> Contributed[LoaderSpec]:
    named = [item for item in readers if kind in {item.spec.name, item.spec.kind}]
    also = [] if named else [item for item, tools in registry.equipped(readers) if kind in tools.aliases]
    if named or also:
        return (named or also)[0]
    from polycmp.plugins.known import explain_kind

    kinds = [item.spec.kind for item in readers]
    raise ModelError(
        f"no installed loader reads models of type {kind!r}", why=did_you_mean(kind, kinds), hint=explain_kind(kind)
    )


def _neighbours(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"there is no folder {folder} either"
    near = did_you_mean(path.name, [item.name for item in folder.iterdir() if item.suffix == path.suffix])
    return f"ls {folder} ({near})" if near.startswith("did") else f"ls {folder}"
