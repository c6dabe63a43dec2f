"""Descriptors and options: how a plugin describes its contributions before any of their code is imported.

Every field with a default is optional, and a plugin that leaves it out works as before the field existed.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from polycmp.spec.former import takes_former


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
    resumes: str = "",
    executes: bool | Callable[[str], bool] = False,
    installs: bool | Callable[[str], bool] = False,
) -> Any:
    """Declare one option as a field of a frozen dataclass.

    From the field's name, annotation and this description the core derives the command-line flag, the key of an
    instance (`-b NAME:KEY=VALUE`), the key in a run file, the help text and the validation. Annotations understood:
    `bool`, `int`, `float`, `str`, `X | None`, `tuple[X, ...]` (several values), `tuple[tuple[X, ...], ...]` (several
    groups of values: each use of the flag starts a new one) and `Mapping[str, X]` (`NAME:VALUE`, where a value without
    a name applies to all and has the key `""`).

    Args:
        default: The value where none is given; immutable.
        help: One sentence for the help text.
        choices: The only values allowed.
        alias: A further flag, or several; one that two plugins have counts for neither: `"--providers"`.
        metavar: Placeholder for the value in the help text.
        parse: Turns the text of one value into the value; raises `ValueError` with the reason.
        format: Turns one value back into text that `parse` understands. Needed only where `parse` makes something else
            than text, numbers, truth values or tuples of them; without it such a value reaches neither a worker process
            nor a run file.
        bare: The text meant when the flag is given without a value; None if it needs one. Where several values are
            taken, `""` allows none of them. Every other option refuses an empty value.
        hidden: Leave the option out of the help text (old spellings).
        writes: The value says where a file is written. Commands that repeat a run leave such options out, so that they
            do not overwrite the files of that run.
        resumes: The field whose file this one may go on with: both may name one file, which is read before it is
            written and loses nothing. A cache goes on with its own file, and is kept where a run is repeated.
        executes: The value names code that is run, a script, a library or a program, as every option with the metavar
            `FILE.py` or `FILE.so` does; or a function that tells whether a value does, given its text. Settings that
            another library reads count as code, except those that are known to name none. `polycmp suite
            --no-scripts` and `polycmp mcp` refuse it.
        installs: The value names packages to install, or a function as for `executes`. They are refused alike, except
            packages that an installed backend needs.
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
        "resumes": resumes,
        "executes": executes,
        "installs": installs,
    }
    if isinstance(default, (list, dict, set)):
        value = default
        return dataclasses.field(default_factory=lambda: type(value)(value), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Switch:
    """An option that leaves out something a backend does by default, such as a pass of its optimiser.

    What a model computes does not depend on it as long as the backend is right. So a fault that goes away with it lies
    in what is left out: searches turn switches on a model that fails, name what helps, and the option as a workaround.

    Attributes:
        option: The field of the backend's options.
        values: Values to set the option to. Of one that takes several values: all that can be left out, in any number;
            a search finds the fewest that help, and adds them to those the user gave. Of any other option: its settings
            from the one that leaves out least to the one that leaves out most; tuples if it names what stays.
        values_from: Optional, `"package.module:attribute"`, called as `values_from(model, options) -> Iterable` where
            the values depend on the model or on what is installed; `model` is a `ModelHandle`. It takes the place of
            `values` where the backend runs in this environment, and is imported only when a search asks.
    """

    option: str
    values: tuple[Any, ...] = ()
    values_from: str = ""


@takes_former(
    "intermediates", "precise", "narrows", "threads", "trial_cost", "aliases", "concurrent", "exclusive", "compiles",
    "switches", "rewritten", functions=("inside",),
)  # fmt: skip
@dataclass(frozen=True)
class RunnerSpec:
    """A backend.

    Attributes:
        name: Name to type after `-b`: lower case, digits, underscores.
        summary: One line for tables and help.
        factory: `"package.module:attribute"`, called as `factory(model, options, *, name) -> Runner`; `model` is a
            `ModelHandle`.
        options: Frozen dataclass with `opt()` fields, or None.
        accepts: Kinds of model it can take, the one it likes best first.
        needs: Importable modules without which it cannot run, looked for without importing them; `"a|b"` where either
            of two will do, the one to install first.
        tools: Optional, `"package.module:attribute"` of a class derived from `RunnerTools`: what is true of it
            besides, and what else it can do.
        hidden: In no list, and without flags of its own: there only for those who ask for it by name.
        former: Fields that a plugin of an older release gave, by name.
    """

    name: str
    summary: str
    factory: str
    options: type | None = None
    accepts: tuple[str, ...] = ("onnx",)
    needs: tuple[str, ...] = ()
    tools: str = ""
    hidden: bool = False
    former: Mapping[str, Any] = dataclasses.field(default_factory=dict, init=False, repr=False, compare=False)
    former_functions: ClassVar[tuple[str, ...]] = ()


@takes_former(
    "folder_marks", "options_of", "takes_model", "aliases", "rewrites",
    functions=("structure", "describe", "inspect", "save", "save_verified", "draft", "hints", "graph", "join", "files",
               "facts", "other_tools"),
)  # fmt: skip
@dataclass(frozen=True)
class LoaderSpec:
    """A way to get a model of one kind, from a file or from a model of another kind.

    Attributes:
        name: The loader's name; its options become `--NAME-FIELD`.
        summary: One line for tables and help.
        factory: Called as `factory(source, options) -> Loader`, a zero-argument callable. `source` is a path, or a
            `Loader` of a kind in `consumes`.
        options: Frozen dataclass with `opt()` fields, or None.
        suffixes: Endings of the files it reads, with the dot; `"/NAME"` for folders that are one model, known by the
            file NAME in them (`"/saved_model.pb"`).
        consumes: Kinds it can convert from.
        produces: The kind of model it gives; empty means the same as `name`.
        tools: Optional, `"package.module:attribute"` of a class derived from `LoaderTools`: what is true of it
            besides, and what else it can do.
        former: Fields that a plugin of an older release gave, by name.
    """

    name: str
    summary: str
    factory: str
    options: type | None = None
    suffixes: tuple[str, ...] = ()
    consumes: tuple[str, ...] = ()
    produces: str = ""
    tools: str = ""
    former: Mapping[str, Any] = dataclasses.field(default_factory=dict, init=False, repr=False, compare=False)
    former_functions: ClassVar[tuple[str, ...]] = ()

    @property
    def kind(self) -> str:
        """The kind of model that it gives."""
        return self.produces or self.name

    @property
    def file_suffixes(self) -> tuple[str, ...]:
        """Endings of the files that it reads."""
        return tuple(suffix for suffix in self.suffixes if not suffix.startswith("/"))

    @property
    def folder_marks(self) -> tuple[str, ...]:
        """Names of the files by any of which it knows a folder as one model."""
        named = (suffix[1:] for suffix in self.suffixes if suffix.startswith("/"))
        return (*named, *self.former.get("folder_marks", ()))

    def reads(self, path: str | Path) -> bool:
        """Return whether a file's suffix, or what a folder holds, says that the loader reads it."""
        if Path(path).suffix.lower() in self.suffixes:
            return True
        # os.path, because words of a command line that no file system can hold are no folders rather than errors
        return any(os.path.isfile(os.path.join(path, name)) for name in self.folder_marks)  # noqa: PTH113, PTH118


@takes_former(
    "synthetic", "sweeps_shapes", "compare_defaults", "compare_notes", "sizes", "gives_way", "python",
    functions=("remarks", "steps_in"),
)  # fmt: skip
@dataclass(frozen=True)
class DataLoaderSpec:
    """A source of input data, chosen with `--data-loader NAME`.

    Attributes:
        name: Name to type after `--data-loader`.
        summary: One line for tables and help.
        factory: Called as `factory(options) -> callable(inputs: TensorMetadata) -> Iterable[dict[str, array]]`.
        options: Frozen dataclass with `opt()` fields, or None.
        follows: It continues the inputs of any data loader with the outputs made from them: it is not chosen by
            name, but takes part when any of its options is given. The factory is then called as
            `factory(options, following, resolved)`, with a `FeedbackContext` and a `Resolved` of
            `polycmp.runs`, and returns a `Feedback` of it.
        tools: Optional, `"package.module:attribute"` of a class derived from `DataLoaderTools`: what is true of it
            besides, and what else it can do.
        former: Fields that a plugin of an older release gave, by name.
    """

    name: str
    summary: str
    factory: str
    options: type | None = None
    follows: bool = False
    tools: str = ""
    former: Mapping[str, Any] = dataclasses.field(default_factory=dict, init=False, repr=False, compare=False)
    former_functions: ClassVar[tuple[str, ...]] = ()


@takes_former("detail", "rejudges", "larger_is_better", "no_mean", "yields", "any_shape", "groups", "python")
@dataclass(frozen=True)
class CompareFuncSpec:
    """A way to judge one output, chosen with `--compare NAME...`.

    Attributes:
        name: Name to type after `--compare`.
        summary: One line for tables and help.
        factory: Called as `factory(options) -> callable(candidate, reference, *, output: str) -> Verdict`.
        options: Frozen dataclass with `opt()` fields, or None.
        tools: Optional, `"package.module:attribute"` of a class derived from `CompareFuncTools`: what is true of it
            besides.
        former: Fields that a plugin of an older release gave, by name.
    """

    name: str
    summary: str
    factory: str
    options: type | None = None
    tools: str = ""
    former: Mapping[str, Any] = dataclasses.field(default_factory=dict, init=False, repr=False, compare=False)
    former_functions: ClassVar[tuple[str, ...]] = ()


#: What commands are for, and the heading of that section of `polycmp --help`.
PURPOSES: Mapping[str, str] = {
    "compare": "Compare",
    "find": "Find the fault",
    "guard": "Guard models against faults",
    "files": "Work on models and data",
    "": "Other commands",
}


@dataclass(frozen=True)
class CommandSpec:
    """A command of its own.

    Attributes:
        path: Words of the command, for example `("surgeon", "extract")`.
        summary: One line for the help text.
        target: `"package.module:click_command"`, imported only when that command runs; `polycmp.command` helps to write
            one.
        group: For a command of several words: one line for the help text on all that begin as it does. The first such
            line counts.
        after_difference: Whether to name the command as the next step after a run in which two backends differ that
            run parts of a model with inner tensors. It is shown with the run's model, backends and those of its options
            that the command has, so `target` has to be a `polycmp.command.BackendCommand`.
        after: Commands, by their words, after which it is named as the next step in the same way where they found that
            two different backends do not agree: `("locate",)`.
        purpose: The section of `polycmp --help` that it stands in, a key of `PURPOSES`; empty for the last one. Of a
            command of several words the first that has one counts.
        hidden: In no list: there only for those who type it (former names, and what other tools call a command).
    """

    path: tuple[str, ...]
    summary: str
    target: str
    group: str = ""
    after_difference: bool = False
    after: tuple[str, ...] = ()
    purpose: str = ""
    hidden: bool = False


@dataclass(frozen=True)
class FormatSpec:
    """A type of files for inputs and outputs, chosen by the suffix: `--save-outputs FILE.npz`.

    Attributes:
        suffix: The suffix of its files with the dot, lower case.
        summary: One line for tables and help.
        reader: `"package.module:attribute"`, called as `reader(path) -> polycmp.results.Stored`, which says
            what a file holds and reads it when it is asked for.
        writer: Called as `writer(file, kind, path) -> polycmp.results.FormatWriter`, which takes the iterations
            for an open file of bytes. `kind` is `"inputs"` or `"outputs"`, and `path` is where the file will be. Empty
            for a type that is only read.
        needs: Importable modules without which it cannot work, looked for without importing them.
    """

    suffix: str
    summary: str
    reader: str
    writer: str = ""
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class ToleranceSpec:
    """A way to find the tolerances of each output, chosen with `--tolerance NAME`.

    Attributes:
        name: Name to type after `--tolerance`.
        summary: One line for tables.
        factory: Called as `factory(resolved, reference) -> polycmp.runs.Tolerances`, where `resolved` is a
            `polycmp.runs.Resolved`, and `reference` the label of a run, which need not be a backend's.
        suffix: Suffix, with the dot and in lower case, of the files that it reads tolerances from. Then it is chosen
            with `--tolerance FILE`, and the factory is called as `factory(resolved, reference, path)`.
    """

    name: str
    summary: str
    factory: str
    suffix: str = ""


@dataclass(frozen=True)
class PairingSpec:
    """A way to go side by side through models that differ, tensor by tensor, as for `--mark-all`.

    Attributes:
        name: Name in messages.
        summary: One line for tables.
        factory: Called as `factory(runs, reference, given, command, perturbed)` with a `PartitionedRun` for each model,
            the reference's label, the `GivenNames` that the user paired, the command line, for messages, and what gives
            the `PerturbedRuns` of a run, or None. It returns a `Paired` (all of `polycmp.layerwise`), or None if it
            cannot pair them; then the next one is asked.
    """

    name: str
    summary: str
    factory: str


SERVICES: Mapping[str, str] = {
    "windows": "a way through models whose outputs may not fit the memory all at once",
    "workers": "backends in processes of their own, for `--use-subprocess` and `-b NAME:python=PATH`",
    "remote": "backends on other machines, for `-b NAME:ssh=USER@HOST`",
    "environments": "environments with other releases of a backend's runtime, for `-b NAME:version=VERSION`",
    "networks": "what two model files differ by, told without a run, for `compare NEW OLD`",
}
"""What a run leaves to plugins, and does in the plainest way, or not at all, where none is there."""


@dataclass(frozen=True)
class ServiceSpec:
    """Something that a run uses if it is there.

    Attributes:
        name: One of `SERVICES`.
        summary: One line for tables.
        factory: Called as the Protocol for this service in `polycmp.runs` says.
    """

    name: str
    summary: str
    factory: str


@dataclass(frozen=True)
class ObserverSpec:
    """Something that takes part in every run: it changes outputs, watches them, or keeps what is found.

    Attributes:
        name: Name in messages.
        summary: One line for tables.
        factory: Called before a run as `factory(resolved) -> RunObserver | None`, where `resolved` is a
            `polycmp.runs.Resolved`; None where it has nothing to do in this run. Every run calls it, so what is
            expensive to import is imported in it, when it is needed.
        changes: It changes outputs before they are compared, or verdicts afterwards. In every step and at the end,
            such observers are asked before those that only look.
        options: Frozen dataclass with `opt()` fields, or None; its options become `--NAME-FIELD`. The factory is then
            called as `factory(resolved, options)`, and only in runs that were given any of them.
        detail: With its options it shows figures that are otherwise computed for reports only.
        searches: It also takes part where `locate` searches inside models: there it is shown, as steps with one pair of
            arrays each, the first tensors that differ; what it adds to the outcome comes with the result.
    """

    name: str
    summary: str
    factory: str
    changes: bool = False
    options: type | None = None
    detail: bool = False
    searches: bool = False


@takes_former("when", functions=("completes", "instead", "inline"))
@dataclass(frozen=True)
class ReportSpec:
    """A form in which results are written, whatever the command, chosen by the file's suffix: `--report FILE.md`.

    Attributes:
        suffix: The suffix of its files with the dot, lower case; empty for a report that no file is asked for.
        summary: One line for tables and help.
        factory: Called as `factory(result, path)`, where `options` are declared as `factory(result, path, options)`;
            `result` is a `polycmp.report.Result`. Empty for a report that only writes plans down.
        name: Name of a report without suffix; one with a suffix is named after it.
        options: Frozen dataclass with `opt()` fields, or None; its options become `--NAME-FIELD`.
        needs: Importable modules without which it cannot write, looked for without importing them.
        tools: Optional, `"package.module:attribute"` of a class derived from `ReportTools`: what is true of it
            besides, and what else it can do.
        former: Fields that a plugin of an older release gave, by name.
    """

    suffix: str
    summary: str
    factory: str
    name: str = ""
    options: type | None = None
    needs: tuple[str, ...] = ()
    tools: str = ""
    former: Mapping[str, Any] = dataclasses.field(default_factory=dict, init=False, repr=False, compare=False)
    former_functions: ClassVar[tuple[str, ...]] = ()
