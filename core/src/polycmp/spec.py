"""Everything that a plugin's light module imports: markers, hooks, descriptors, `opt()`, `Verdict`.

A plugin is a module named by an entry point of the group `polycmp`. It implements hooks that take no argument, do no
work, and return descriptors; a descriptor names the heavy code as a string `"package.module:attribute"`, which the
core imports only when that code is really needed. This module imports nothing but the standard library and pluggy.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pluggy

from polycmp.values import (
    parse_bool,
    parse_named,
    parse_named_shapes,
    parse_range,
    parse_shape,
    parse_size,
    split_script,
)

__all__ = [
    "CommandSpec",
    "CompareFuncSpec",
    "Compared",
    "DataLoaderSpec",
    "LoaderSpec",
    "ReportSpec",
    "RunnerSpec",
    "Verdict",
    "hookimpl",
    "opt",
    "parse_bool",
    "parse_named",
    "parse_named_shapes",
    "parse_range",
    "parse_shape",
    "parse_size",
    "split_script",
]

ENTRY_POINT_GROUP = "polycmp"
hookspec = pluggy.HookspecMarker(ENTRY_POINT_GROUP)
hookimpl = pluggy.HookimplMarker(ENTRY_POINT_GROUP)


def opt(
    default: Any,
    *,
    help: str,
    choices: Iterable[Any] | None = None,
    alias: str | tuple[str, ...] | None = None,
    metavar: str | None = None,
    parse: Callable[[str], Any] | None = None,
    format: Callable[[Any], str] | None = None,
    bare: str | None = None,
    hidden: bool = False,
    writes: bool = False,
) -> Any:
    """Declare one option as a field of a frozen dataclass.

    From the field's name, annotation and this description the core derives the command-line flag, the key of an
    instance (`-b NAME:KEY=VALUE`), the key in a run file, the help text and the validation. Annotations understood:
    `bool`, `int`, `float`, `str`, `X | None`, `tuple[X, ...]` (several values), `tuple[tuple[X, ...], ...]` (several
    groups of values: each use of the flag starts a new one) and `Mapping[str, X]` (`NAME:VALUE`, where a value without
    a name applies to all and has the key `""`).

    Args:
        default: The value when nobody says anything; immutable.
        help: One sentence for the help text.
        choices: The only values allowed.
        alias: A further flag, or several, granted if nobody else claims it: `"--providers"`.
        metavar: What stands for the value in the help text.
        parse: Turns the text of one value into the value; raises `ValueError` with the reason.
        format: Turns one value back into text that `parse` understands. Needed only where `parse` makes something else
            than text, numbers, truth values or tuples of them; without it such a value reaches neither a worker process
            nor a run file.
        bare: The text meant when the flag is given without a value; None if it needs one. Where several values are
            taken, `""` allows none of them. Every other option refuses an empty value.
        hidden: Leave the option out of the help text (old spellings).
        writes: The value says where a file is written. Commands that repeat a run leave such options out, so that they
            do not overwrite what the run left behind.
    """
    aliases = (alias,) if isinstance(alias, str) else tuple(alias or ())
    metadata = {
        "help": help,
        "choices": tuple(choices) if choices is not None else None,
        "alias": aliases,
        "metavar": metavar,
        "parse": parse,
        "format": format,
        "bare": bare,
        "hidden": hidden,
        "writes": writes,
    }
    if isinstance(default, (list, dict, set)):
        value = default
        return dataclasses.field(default_factory=lambda: type(value)(value), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What a compare function says of one output.

    Attributes:
        passed: Whether candidate and reference agree.
        reason: Why not, in words; may also qualify a pass.
        metrics: Named figures for reports.
    """

    passed: bool
    reason: str = ""
    metrics: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.passed


@dataclasses.dataclass(frozen=True)
class RunnerSpec:
    """A backend.

    Attributes:
        name: What people type after `-b`: lower case, digits, underscores.
        summary: One line for tables and help.
        factory: `"package.module:attribute"`, called as `factory(model, options, *, name) -> Runner`. `model` offers
            `.path`, `.kind` and `.load(kind) -> Loader`.
        options: Frozen dataclass with `opt()` fields, or None.
        accepts: Kinds of model it can take, the one it likes best first.
        needs: Importable modules without which it cannot run, looked for without importing them.
        intermediates: How the core may look at tensors inside the model: `"graph"` if a part of the model, or the
            model with other outputs, is a model this backend also runs (then the core cuts the graph), `"none"` if not.
        precise: Options, as pairs of field and value, with which it calculates in float64 whatever the model says;
            empty if it cannot. `locate` uses such a backend to tell rounding from faults.
        narrows: Options that let it calculate in a coarser type than the model's, as pairs of field and type
            (`("fp16", "float16")`); an empty type means that the field's value names it. What such a type rounds is
            then no fault. Types are those of `polycmp.precision.UNITS`.
        hidden: In no list and without flags: for those who ask for it by name.
    """

    name: str
    summary: str
    factory: str
    options: type | None = None
    accepts: tuple[str, ...] = ("onnx",)
    needs: tuple[str, ...] = ()
    intermediates: str = "graph"
    precise: tuple[tuple[str, Any], ...] = ()
    narrows: tuple[tuple[str, str], ...] = ()
    hidden: bool = False


@dataclasses.dataclass(frozen=True)
class LoaderSpec:
    """A way to get a model of one kind, from a file or from a model of another kind.

    Attributes:
        name: The loader's name; its options become `--NAME-FIELD`.
        summary: One line for tables and help.
        factory: Called as `factory(source, options) -> Loader`, a zero-argument callable. `source` is a path, or a
            `Loader` of a kind in `consumes`. A factory with a parameter `model` is also given the model handle.
        options: Frozen dataclass with `opt()` fields, or None.
        suffixes: Endings of the files it reads, with the dot.
        consumes: Kinds it can convert from.
        produces: The kind of model it gives; empty means the same as `name`.
        describe: Optional, called as `describe(source, options) -> ModelDescription`: names, types and shapes of
            inputs and outputs without loading weights, so that names on the command line are checked early.
        inspect: Optional, called as `inspect(loader, show) -> str`: the model as text for `inspect model`.
        save: Optional, called as `save(loader, path) -> None`: writes a model of this kind for `convert`.
        options_of: A backend whose options this loader takes instead of its own: whoever builds engines on the way to
            running them builds them alike on the way to a file.
        graph: Optional, called as `graph(loader) -> polycmp.graph.ModelGraph`: the model's operators and tensors, and
            parts cut out of it. With it, the tensors inside the model can be compared in bounded memory, and `locate`
            can find the operator at fault, on every backend that accepts this kind of model.
    """

    name: str
    summary: str
    factory: str
    options: type | None = None
    suffixes: tuple[str, ...] = ()
    consumes: tuple[str, ...] = ()
    produces: str = ""
    describe: str = ""
    inspect: str = ""
    save: str = ""
    graph: str = ""
    options_of: str = ""


@dataclasses.dataclass(frozen=True)
class DataLoaderSpec:
    """A source of input data, chosen with `--data-loader NAME`.

    Attributes:
        name: What people type.
        summary: One line for tables and help.
        factory: Called as `factory(options) -> callable(inputs: TensorMetadata) -> Iterable[dict[str, array]]`.
        options: Frozen dataclass with `opt()` fields, or None.
    """

    name: str
    summary: str
    factory: str
    options: type | None = None


@dataclasses.dataclass(frozen=True)
class CompareFuncSpec:
    """A way to judge one output, chosen with `--compare NAME...`.

    Attributes:
        name: What people type.
        summary: One line for tables and help.
        factory: Called as `factory(options) -> callable(candidate, reference, *, output: str) -> Verdict`.
        options: Frozen dataclass with `opt()` fields, or None.
    """

    name: str
    summary: str
    factory: str
    options: type | None = None


@dataclasses.dataclass(frozen=True)
class CommandSpec:
    """A command of its own.

    Attributes:
        path: Its words, for example `("surgeon", "extract")`.
        summary: One line for the help text.
        target: `"package.module:click_command"`, imported only when that command runs; `polycmp.command` helps to write
            one.
        group: For a command of several words: one line for the help text on all that begin as it does. The first such
            line counts.
    """

    path: tuple[str, ...]
    summary: str
    target: str
    group: str = ""


@dataclasses.dataclass(frozen=True)
class ReportSpec:
    """A form in which results are written, whatever the command, chosen by the file's suffix: `--report FILE.md`.

    Attributes:
        suffix: The suffix of its files with the dot, lower case; empty for a report that no file is asked for.
        summary: One line for tables and help.
        factory: Called as `factory(result, path)`, where `options` are declared as `factory(result, path, options)`;
            `result` is a `polycmp.report.Result`. Empty for a report that only watches.
        name: What a report without suffix is called; one with a suffix is called after it.
        options: Frozen dataclass with `opt()` fields, or None; its options become `--NAME-FIELD`.
        needs: Importable modules without which it cannot write, looked for without importing them.
        when: An environment variable. Where it is set, the report is also written without being asked for, with an
            empty path.
        watch: Optional, called before a run as `watch(options) -> watcher | None` if any of the options was given.
            The watcher is then called with each pair of arrays that is compared, as `Compared`.
    """

    suffix: str
    summary: str
    factory: str
    name: str = ""
    options: type | None = None
    needs: tuple[str, ...] = ()
    when: str = ""
    watch: str = ""


@dataclasses.dataclass(frozen=True)
class Compared:
    """Two arrays that are compared.

    Attributes:
        iteration: The iteration, counted from 0.
        candidate: The candidate's label.
        reference: The reference's label.
        output: The output's name in the candidate.
        made: The candidate's array, or whatever holds it; valid until the watcher returns.
        expected: The reference's, likewise.
    """

    iteration: int
    candidate: str
    reference: str
    output: str
    made: Any
    expected: Any


class Hooks:
    """The hooks of a plugin. None takes an argument; each returns or yields descriptors and does no work."""

    @hookspec
    def polycmp_runners(self) -> Iterable[RunnerSpec]:
        """Contribute backends.

        Example:
            A complete plugin module, `my_backend/plugin.py`::

                from dataclasses import dataclass
                from polycmp.spec import RunnerSpec, hookimpl, opt

                @dataclass(frozen=True)
                class Options:
                    threads: int = opt(1, help="Number of threads.")

                @hookimpl
                def polycmp_runners():
                    yield RunnerSpec(name="mine", summary="My runtime", factory="my_backend.runner:make_runner",
                                     options=Options, accepts=("onnx",), needs=("my_runtime",))

            and the heavy one, `my_backend/runner.py`::

                from polycmp.runner import Runner
                from polycmp.tensors import TensorMetadata

                class MyRunner(Runner):
                    def __init__(self, load, name=""):
                        super().__init__(name)
                        self._load = load
                    def activate_impl(self):
                        self._model = self._load()
                    def get_input_metadata_impl(self):
                        meta = TensorMetadata()
                        for value in self._model.graph.input:
                            meta.add(value.name, "float32", [d.dim_value or d.dim_param or -1
                                                             for d in value.type.tensor_type.shape.dim])
                        return meta
                    def infer_impl(self, feed_dict):
                        return {self._model.graph.output[0].name: sum(feed_dict.values())}
                    def deactivate_impl(self):
                        del self._model

                def make_runner(model, options, *, name):
                    return MyRunner(model.load("onnx"), name)
        """
        raise NotImplementedError

    @hookspec
    def polycmp_loaders(self) -> Iterable[LoaderSpec]:
        """Contribute ways to load models, or to convert one kind of model into another.

        Example:
            ::

                from polycmp.spec import LoaderSpec, hookimpl

                @hookimpl
                def polycmp_loaders():
                    yield LoaderSpec(name="mynet", summary="My format", factory="my_backend.load:make_loader",
                                     suffixes=(".mynet",), produces="mynet")

            with, in `my_backend/load.py`::

                from polycmp.loader import BytesFromPath

                def make_loader(source, options):
                    return BytesFromPath(source)
        """
        raise NotImplementedError

    @hookspec
    def polycmp_data_loaders(self) -> Iterable[DataLoaderSpec]:
        """Contribute sources of input data.

        Example:
            ::

                from polycmp.spec import DataLoaderSpec, hookimpl

                @hookimpl
                def polycmp_data_loaders():
                    yield DataLoaderSpec(name="zeros", summary="All zeros", factory="my_backend.data:make_zeros")

            with, in `my_backend/data.py`::

                import numpy as np

                def make_zeros(options):
                    def load(inputs):
                        yield {name: np.zeros(entry.static_shape(), entry.dtype) for name, entry in inputs.items()}
                    return load
        """
        raise NotImplementedError

    @hookspec
    def polycmp_compare_funcs(self) -> Iterable[CompareFuncSpec]:
        """Contribute ways to judge an output.

        Example:
            ::

                from polycmp.spec import CompareFuncSpec, hookimpl

                @hookimpl
                def polycmp_compare_funcs():
                    yield CompareFuncSpec(name="same_sign", summary="Signs agree", factory="my_backend.cmp:make")

            with, in `my_backend/cmp.py`::

                import numpy as np
                from polycmp.spec import Verdict

                def make(options):
                    def compare(candidate, reference, *, output):
                        wrong = int((np.sign(candidate) != np.sign(reference)).sum())
                        return Verdict(wrong == 0, f"{wrong} signs differ" if wrong else "", {"signs": wrong})
                    return compare
        """
        raise NotImplementedError

    @hookspec
    def polycmp_commands(self) -> Iterable[CommandSpec]:
        """Contribute commands.

        Example:
            ::

                from polycmp.spec import CommandSpec, hookimpl

                @hookimpl
                def polycmp_commands():
                    yield CommandSpec(("mine", "info"), "Show what my runtime can do.", "my_backend.cli:info")

            with, in `my_backend/cli.py`::

                import click
                from polycmp.terminal import echo  # shows what a name holds instead of obeying it

                @click.command()
                def info():
                    echo("everything")
        """
        raise NotImplementedError

    @hookspec
    def polycmp_reports(self) -> Iterable[ReportSpec]:
        """Contribute forms in which the results of all commands are written.

        Example:
            ::

                from polycmp.spec import ReportSpec, hookimpl

                @hookimpl
                def polycmp_reports():
                    yield ReportSpec(suffix=".csv", summary="A line per failure", factory="my_report.csv:write")

            with, in `my_report/csv.py`::

                import csv
                import io
                from polycmp.files import atomic_write, to_bytes
                from polycmp.report import Table

                def write(result, path):
                    text = io.StringIO()
                    lines = csv.writer(text)
                    lines.writerow([result.command, result.verdict, result.sentence])
                    for table in result.blocks(Table):
                        lines.writerows([table.title, row.name, row.reason] for row in table.failures)
                    with atomic_write(path) as file:
                        file.write(to_bytes(text.getvalue()))
        """
        raise NotImplementedError


HOOKS: dict[str, type] = {
    "polycmp_runners": RunnerSpec,
    "polycmp_loaders": LoaderSpec,
    "polycmp_data_loaders": DataLoaderSpec,
    "polycmp_compare_funcs": CompareFuncSpec,
    "polycmp_commands": CommandSpec,
    "polycmp_reports": ReportSpec,
}
