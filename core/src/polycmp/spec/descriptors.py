"""Descriptors and options: how a plugin describes its contributions before any of their code is imported.

Every field with a default is optional, and a plugin that leaves it out works as before the field existed.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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
        intermediates: Access of the core to tensors inside the model: `"graph"` if a part of the model, or the
            model with other outputs, is a model this backend also runs (then the core cuts the graph), `"none"` if not.
        inside: Optional, called as `inside(model, options) -> str | ModelGraph`, where that depends on the instance:
            `"graph"` and `"none"` as above, or, where it runs something other than the model's file (a program that the
            file was exported from, say), a `polycmp.graph.ModelGraph` of what it runs, with the names of its own
            tensors. Its runners are then given the loaders that this graph's `cut` and `mark` return, and `locate`
            pairs its tensors with the other side's.
        precise: Options, as pairs of field and value, with which it calculates in float64 for any model;
            empty if it cannot. `locate` uses such a backend to tell rounding from faults.
        narrows: Options that let it calculate in a coarser type than the model's, as pairs of field and type
            (`("fp16", "float16")`); an empty type means that the field's value names it. What such a type rounds is
            then no fault. Types are those of `polycmp.precision.UNITS`.
        threads: The option that sets the number of threads; empty if there is none. `invariants` checks that results
            do not depend on it.
        trial_cost: Rank by cost of a trial run. If above 0, the backend starts and runs a small model in a moment, so
            that shapes may be tried on it before a run; of several backends the one with the lowest figure is taken.
        aliases: Other names that people try after `-b`; they get an error that names this one.
        concurrent: Whether its runners may be made and run while those of other backends are, each in a thread of its
            own, and take no more threads than `polycmp.runner.usable_cores()` then says.
        exclusive: Options that make it run alone all the same once they are not at their default: those that choose
            another device, for example, or a number of threads.
        compiles: Making a runner compiles the model, which takes seconds or minutes: the core then looks inside it with
            few runners of large parts instead of many of small ones.
        switches: Optimisations that can be switched off, each a `Switch`, the one that leaves out least first: `locate`
            names by them what a fault hangs on, and what to type until it is mended.
        rewritten: The option that names a file into which it writes the model as it has rewritten it, in a format that
            one of the loaders reads; empty if there is none. `locate` reads there which operators became one.
        hidden: In no list, and without flags of its own: there only for those who ask for it by name.
    """

    name: str
    summary: str
    factory: str
    options: type | None = None
    accepts: tuple[str, ...] = ("onnx",)
    needs: tuple[str, ...] = ()
    intermediates: str = "graph"
    inside: str = ""
    precise: tuple[tuple[str, Any], ...] = ()
    narrows: tuple[tuple[str, str], ...] = ()
    threads: str = ""
    trial_cost: int = 0
    aliases: tuple[str, ...] = ()
    concurrent: bool = False
    exclusive: tuple[str, ...] = ()
    compiles: bool = False
    switches: tuple[Switch, ...] = ()
    rewritten: str = ""
    hidden: bool = False


@dataclass(frozen=True)
class LoaderSpec:
    """A way to get a model of one kind, from a file or from a model of another kind.

    Attributes:
        name: The loader's name; its options become `--NAME-FIELD`.
        summary: One line for tables and help.
        factory: Called as `factory(source, options) -> Loader`, a zero-argument callable. `source` is a path, or a
            `Loader` of a kind in `consumes`.
        options: Frozen dataclass with `opt()` fields, or None.
        suffixes: Endings of the files it reads, with the dot.
        consumes: Kinds it can convert from.
        produces: The kind of model it gives; empty means the same as `name`.
        folder_marks: Names of files by any of which it knows a folder as one model (`saved_model.pb`).
        structure: Optional, called as `structure(path) -> Any`: the model without its weights. With it, the file is
            read once for `describe` and `hints`, whose `source` is then a callable that returns what this has returned,
            and for a factory that takes the model, as `ModelHandle.structure`.
        describe: Optional, called as `describe(source, options) -> ModelDescription`: names, types and shapes of
            inputs and outputs without loading weights, so that names on the command line are checked early.
        inspect: Optional, called as `inspect(loader, show) -> str`: the model as text for `inspect model`.
        save: Optional, called as `save(loader, path) -> None`: writes a model of this kind for `convert`.
        save_verified: Optional, called as `save_verified(loader, path, *, original, registry) -> Iterable[str]`: as
            `save`, for a file that the user keeps. It takes its place only once it is known to be as good as the model
            that it was made of, which `original()` gives; returns what was made sure of, in a few words each.
        draft: Optional, called as `draft(loader, path, weights, *, whole) -> None`: as `save`, for a part of a model
            that is read once and then removed, so that it need not survive a loss of power. `weights` names a folder
            beside `path` whose files the part may refer to, those that earlier parts left there included; empty for
            none. `whole` asks for a file that is complete in itself, if there can be one.
        options_of: A backend whose options this loader takes instead of its own, so that `convert` builds the
            engine that `run` runs.
        hints: Optional, called as `hints(source, options) -> InputHints`: which sizes the model's operators ask of
            dimensions that its inputs leave open, read without loading weights.
        graph: Optional, called as `graph(loader) -> polycmp.graph.ModelGraph`: the model's operators and tensors, and
            parts cut out of it. With it, the tensors inside the model can be compared in bounded memory, and `locate`
            can find the operator at fault, on every backend that accepts this kind of model.
        join: Optional, called as `join(parts) -> Loader`, where `parts` are loaders of models of this kind by a prefix:
            all of them as one model of separate parts, each tensor's name with its part's prefix. With it, `locate`
            runs many operators alone in one runner of a backend that compiles.
        files: Optional, called as `files(path) -> Iterable[str]`: the paths of further files that a model's file refers
            to, those with its weights, read without loading weights. They tell, too, whether a model has changed.
        facts: Optional, called as `facts(path) -> Mapping[str, Any]`: what tells models of this kind apart besides the
            file's digest and size, in plain values by name (`opset`), read without loading weights. Reports show it.
        takes_model: The factory is called as `factory(source, options, *, model) -> Loader`, where `model` is the
            `ModelHandle` for which it loads: shapes and data of the run then serve what it builds.
        aliases: Other names of the kind it makes, for `--model-type`, `--convert-to` and `--display-as`.
        rewrites: Whether loading such a file and saving it again may change it; if not, `convert` refuses to do so.
        other_tools: Optional, called as `other_tools(path, kind) -> str`: the command line of another tool that makes a
            model of that kind from this file, which is shown where no installed loader does; empty if there is none.
    """

    name: str
    summary: str
    factory: str
    options: type | None = None
    suffixes: tuple[str, ...] = ()
    consumes: tuple[str, ...] = ()
    produces: str = ""
    folder_marks: tuple[str, ...] = ()
    structure: str = ""
    describe: str = ""
    inspect: str = ""
    save: str = ""
    save_verified: str = ""
    draft: str = ""
    hints: str = ""
    graph: str = ""
    join: str = ""
    files: str = ""
    facts: str = ""
    options_of: str = ""
    takes_model: bool = False
    aliases: tuple[str, ...] = ()
    rewrites: bool = True
    other_tools: str = ""

    def reads(self, path: str | Path) -> bool:
        """Return whether a file's suffix, or what a folder holds, says that the loader reads it."""
        if Path(path).suffix.lower() in self.suffixes:
            return True
        # os.path, because words of a command line that no file system can hold are no folders rather than errors
        return any(os.path.isfile(os.path.join(path, name)) for name in self.folder_marks)  # noqa: PTH113, PTH118


@dataclass(frozen=True)
class DataLoaderSpec:
    """A source of input data, chosen with `--data-loader NAME`.

    Attributes:
        name: Name to type after `--data-loader`.
        summary: One line for tables and help.
        factory: Called as `factory(options) -> callable(inputs: TensorMetadata) -> Iterable[dict[str, array]]`.
        options: Frozen dataclass with `opt()` fields, or None.
        synthetic: The numbers are made up, and say nothing of real data: backends that calibrate with them warn.
        sweeps_shapes: It chooses sizes for open dimensions itself; those of other data loaders become 1 before they
            are asked.
        compare_defaults: Options that suit compare functions better with these inputs, by the function's name and
            the option's field. What the user gives comes first.
        compare_notes: Differences that such an option lets pass, in words, by the same names; the result names them.
        remarks: Optional, called as `remarks(options, inputs) -> Mapping[str, str]`: in words, for those inputs of
            which it is worth saying, what they hold and why.
        sizes: Sizes that suit its inputs, the likeliest first, tried before the common ones: `image` for open heights
            and widths, `series` for the open length of what has no other dimension but a batch.
        gives_way: Options that say which values are drawn. Where none of them is given, and its numbers do not reach
            a model's outputs, real samples take their place. None: its feeds stay in any case.
        steps_in: Optional, called as `steps_in(backends, registry) -> polycmp.runs.SampleFinder`: it may give real
            inputs in place of those that `gives_way`, tried on a quick backend.
        python: `"package.module:attribute"` of a class that makes the same inputs in a Python program, called with
            the options' fields, `input_shapes` and `dimensions` as keyword arguments. Without it `--gen-script` is
            refused.
        follows: It continues the inputs of any data loader with the outputs made from them: it is not chosen by
            name, but takes part when any of its options is given. The factory is then called as
            `factory(options, following, resolved)`, with a `FeedbackContext` and a `Resolved` of
            `polycmp.runs`, and returns a `Feedback` of it.
    """

    name: str
    summary: str
    factory: str
    options: type | None = None
    synthetic: bool = False
    follows: bool = False
    sweeps_shapes: bool = False
    remarks: str = ""
    compare_defaults: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict, hash=False)
    compare_notes: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict, hash=False)
    sizes: Mapping[str, tuple[int, ...]] = dataclasses.field(default_factory=dict, hash=False)
    gives_way: tuple[str, ...] | None = None
    steps_in: str = ""
    python: str = ""


@dataclass(frozen=True)
class CompareFuncSpec:
    """A way to judge one output, chosen with `--compare NAME...`.

    Attributes:
        name: Name to type after `--compare`.
        summary: One line for tables and help.
        factory: Called as `factory(options) -> callable(candidate, reference, *, output: str) -> Verdict`.
        options: Frozen dataclass with `opt()` fields, or None.
        detail: The factory is called as `factory(options, *, detail)`, where `detail` says whether a report asks for
            what costs more, such as percentiles and a histogram in `DetailedVerdict.stats`.
        rejudges: Whether the factory makes a `RejudgingFunction`: it judges saved metrics (`check accuracy`) and their
            means over the iterations (`--check-average`).
        larger_is_better: Of its metrics a larger one is better, so that an infinite one says that both sides are
            equal; those of single iterations are then left out of a mean.
        no_mean: Values of options with which there is no mean to judge, as triples of field, value, and what to give
            instead: `(("statistic", "elemwise", "--statistic max"),)`.
        yields: Suggested options that a given one makes void, as pairs of the suggested field and the given one.
        any_shape: It judges arrays of different shapes, too: any number of boxes, say. Else those differ unseen.
        groups: Further names that `--compare` takes for this function together with the others of the same group.
        python: `"package.module:attribute"` of what makes it in a Python program, called with the options' fields as
            keyword arguments, or with the value of the only one. Without it `--gen-script` is refused.
    """

    name: str
    summary: str
    factory: str
    options: type | None = None
    detail: bool = False
    rejudges: bool = False
    larger_is_better: bool = False
    no_mean: tuple[tuple[str, Any, str], ...] = ()
    yields: tuple[tuple[str, str], ...] = ()
    any_shape: bool = False
    groups: tuple[str, ...] = ()
    python: str = ""


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
    """

    path: tuple[str, ...]
    summary: str
    target: str
    group: str = ""
    after_difference: bool = False
    after: tuple[str, ...] = ()
    purpose: str = ""


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
        when: An environment variable. Where it is set, the report is also written without being asked for, with an
            empty path.
        completes: Optional, called as `completes(result, registry, plan, model) -> Result` before the factory: it adds
            what such files show besides. `plan` is the `polycmp.plan.Plan` of the run, None for a command without one,
            which may have a model all the same. Reports that name the same one share its answer.
        instead: Optional, called as `instead(options, plan, registry)` in place of the run if any of the options was
            given: it writes the `polycmp.plan.Plan` down. Such options may mean standard output by `-`.
        inline: Optional, called as `inline(result, row) -> str` where a notebook shows a result: HTML that loads
            nothing and can stand beside other HTML. `row` names the row whose picture is wanted, and is empty for the
            whole; the answer is empty where there is none.
    """

    suffix: str
    summary: str
    factory: str
    name: str = ""
    options: type | None = None
    needs: tuple[str, ...] = ()
    when: str = ""
    completes: str = ""
    instead: str = ""
    inline: str = ""
