"""What contributions can do besides what every one of their kind does: base classes whose attributes and methods work.

A descriptor names a class of its plugin in `tools`. It is made without arguments when something is first asked of it,
so its module imports little, and its methods import what they need. What it leaves out is as the base class says. A
method that has no default is None there: where a class does not define it, the contribution cannot do it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polycmp.graph import ModelGraph
    from polycmp.loader import Loader
    from polycmp.runner import Runner
    from polycmp.spec.descriptors import Switch
    from polycmp.spec.interfaces import InputHints, ModelHandle
    from polycmp.tensors import Feed, ModelDescription, TensorMetadata


class RunnerTools:
    """What is true of a backend besides that it runs models; `RunnerSpec.tools` names a class derived from it.

    Attributes:
        runs_parts: Whether a part of the model, or the model with other outputs, is a model that it runs, too: then the
            core cuts the graph to look inside.
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
        perturbed: Method `perturbed(model, options, kind, seed, times, *, name)` that returns a runner of the model in
            which the result of every operator that calculates moves at random, `times` as far as rounding to a type
            moves it: that of the name `kind`, or the tensor's own where that is coarser. With an empty `kind` nothing
            moves. Optimisations are off. With it, the noise of rounding is measured on models that have no graph.
    """

    runs_parts: bool = True
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
    perturbed: Callable[..., Runner] | None = None

    def inside(self, model: ModelHandle, options: Any) -> str | ModelGraph:
        """Return how to see the tensors inside of a model that it runs with these options.

        Args:
            model: The model.
            options: The backend's options.

        Returns:
            `"graph"` where it runs parts, `"none"` where nothing can be seen; or, where it runs something other than
            the model's file (a program that the file was exported from, say), a `polycmp.graph.ModelGraph` of what it
            runs, with the names of its own tensors. Its runners are then given the loaders that this graph's `cut`
            and `mark` return, and `locate` pairs its tensors with the other side's.
        """
        return "graph" if self.runs_parts else "none"

    def precision(self, model: ModelHandle, options: Any) -> str:
        """Return the coarsest type that options let it calculate in, by its name; empty if they say nothing of it.

        By default as `narrows` says. A backend whose files hold weights that were rounded, and show no graph, says so.

        Args:
            model: The model.
            options: The backend's options.
        """
        from polycmp.precision import UNITS

        narrows = dict(self.narrows)
        values = {field: getattr(options, field, None) for field in narrows}
        allowed = [narrows[field] or str(value) for field, value in values.items() if value]
        return max((name for name in allowed if name in UNITS), key=UNITS.__getitem__, default="")

    def recorded_inputs(self, model: ModelHandle, options: Any) -> Iterable[Feed] | None:
        """Return the inputs of a run that is over, where the backend shows one and knows them; None for all others.

        They are those of all backends then, unless the user gives files or a script.

        Args:
            model: The model.
            options: The backend's options.
        """
        return None


class LoaderTools:
    """What a loader can do besides loading; `LoaderSpec.tools` names a class derived from it.

    Attributes:
        aliases: Other names of the kind it makes, for `--model-type`, `--convert-to` and `--display-as`.
        options_of: A backend whose options this loader takes instead of its own, so that `convert` builds the
            engine that `run` runs.
        takes_model: The factory is called as `factory(source, options, *, model) -> Loader`, where `model` is the
            `ModelHandle` for which it loads: shapes and data of the run then serve what it builds.
        rewrites: Whether loading such a file and saving it again may change it; if not, `convert` refuses to do so.
        graph_modules: Modules that `graph` imports: processes that look into many models import them once.
        structure: Method `structure(path)` that returns the model without its weights. With it, the file is read once
            for `describe` and `hints`, whose `source` is then a callable that returns what this has returned, and for a
            factory that takes the model, as `ModelHandle.structure`.
        inspect: Method `inspect(loader, show)` that returns the model as text for `inspect model`.
        save: Method `save(loader, path)` that writes a model of this kind for `convert`.
        join: Method `join(parts)`, where `parts` are loaders of models of this kind by a prefix: returns a loader of
            all of them as one model of separate parts, each tensor's name with its part's prefix. With it, `locate`
            runs many operators alone in one runner of a backend that compiles.
    """

    aliases: tuple[str, ...] = ()
    options_of: str = ""
    takes_model: bool = False
    rewrites: bool = True
    graph_modules: tuple[str, ...] = ()
    structure: Callable[[str], Any] | None = None
    inspect: Callable[[Loader[Any], Iterable[str]], str] | None = None
    save: Callable[[Loader[Any], str], None] | None = None
    join: Callable[[Mapping[str, Loader[Any]]], Loader[Any]] | None = None

    def describe(self, source: Any, options: Any) -> ModelDescription | None:
        """Return names, types and shapes of inputs and outputs without loading weights, to check what a user names.

        Args:
            source: The path, or what gives the model without its weights where there is `structure`.
            options: The loader's options.

        Returns:
            None if that takes loading the model.
        """
        return None

    def hints(self, source: Any, options: Any) -> InputHints | None:
        """Return which sizes the model's operators ask of dimensions that its inputs leave open.

        Args:
            source: As for `describe`.
            options: The loader's options.

        Returns:
            None if that is not known; then common sizes are tried.
        """
        return None

    def graph(self, loader: Loader[Any]) -> ModelGraph | None:
        """Return the model's operators and tensors, which can be cut into parts; None if nothing tells them.

        With it, the tensors inside the model can be compared in bounded memory, and `locate` can find the operator at
        fault, on every backend that accepts this kind of model.

        Args:
            loader: Makes the model.
        """
        return None

    def files(self, path: str) -> Iterable[str]:
        """Return the paths of further files that a model's file refers to, read without loading weights.

        They tell, too, whether a model has changed.

        Args:
            path: The file.
        """
        return ()

    def facts(self, path: str) -> Mapping[str, Any]:
        """Return what tells models of this kind apart besides the file's digest and size (`opset`), for reports.

        Args:
            path: The file.
        """
        return {}

    def save_verified(
        self, loader: Loader[Any], path: str, *, original: Callable[[], Any], registry: Any
    ) -> Iterable[str]:
        """Write a file for the user to keep, once it is known to be as good as the model that it was made of.

        Args:
            loader: Makes what to write.
            path: The file to write.
            original: Returns the model that it was made of.
            registry: The plugins.

        Returns:
            What was made sure of, in a few words each.
        """
        if self.save is not None:
            self.save(loader, path)
        return ()

    def draft(self, loader: Loader[Any], path: str, weights: str, *, whole: bool) -> None:
        """Write a part of a model that is read once and then removed: it need not survive a loss of power.

        Args:
            loader: Makes the part.
            path: The file to write.
            weights: A folder beside `path` whose files the part may refer to, those that earlier parts left there
                included; empty for none.
            whole: Whether the file is to be complete in itself, if it can be.
        """
        if self.save is not None:
            self.save(loader, path)

    def other_tools(self, path: str, kind: str) -> str:
        """Return the command line of another tool that makes a model of a kind from this file; empty if there is none.

        It is shown where no installed loader makes that kind.

        Args:
            path: The file.
            kind: The kind of model that was asked for.
        """
        return ""


class DataLoaderTools:
    """What is true of a source of inputs; `DataLoaderSpec.tools` names a class derived from it.

    Attributes:
        synthetic: The numbers are made up, and say nothing of real data: backends that calibrate with them warn.
        sweeps_shapes: It chooses sizes for open dimensions itself; those of other data loaders become 1 before they
            are asked. Sizes that the model's operators demand are set before all the same, unless its option `sizes`
            is given.
        compare_defaults: Options that suit compare functions better with these inputs, by the function's name and
            the option's field. What the user gives comes first.
        compare_notes: Differences that such an option lets pass, in words, by the same names; the result names them.
        sizes: Sizes that suit its inputs, the likeliest first, tried before the common ones: `image` for open heights
            and widths, `series` for the open length of what has no other dimension but a batch.
        gives_way: Options that say which values are drawn. Where none of them is given, and its numbers do not reach
            a model's outputs, real samples take their place. None: its feeds stay in any case.
        steps_in: Method `steps_in(backends, registry)` that returns a `polycmp.runs.SampleFinder`: it may give real
            inputs in place of those that `gives_way`, tried on a quick backend.
        python: `"package.module:attribute"` of a class that makes the same inputs in a Python program, called with
            the options' fields, `input_shapes` and `dimensions` as keyword arguments. Without it `--gen-script` is
            refused.
    """

    synthetic: bool = False
    sweeps_shapes: bool = False
    compare_defaults: Mapping[str, Mapping[str, Any]] = {}
    compare_notes: Mapping[str, Mapping[str, str]] = {}
    sizes: Mapping[str, tuple[int, ...]] = {}
    gives_way: tuple[str, ...] | None = None
    steps_in: Callable[[Sequence[Any], Any], Any] | None = None
    python: str = ""

    def remarks(self, options: Any, inputs: TensorMetadata) -> Mapping[str, str]:
        """Return in words, for those inputs of which it is worth saying, what they hold and why.

        Args:
            options: The data loader's options.
            inputs: The model's inputs.
        """
        return {}


class CompareFuncTools:
    """What is true of a compare function; `CompareFuncSpec.tools` names a class derived from it.

    Attributes:
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

    detail: bool = False
    rejudges: bool = False
    larger_is_better: bool = False
    no_mean: tuple[tuple[str, Any, str], ...] = ()
    yields: tuple[tuple[str, str], ...] = ()
    any_shape: bool = False
    groups: tuple[str, ...] = ()
    python: str = ""


class ReportTools:
    """What a report can do besides writing a result; `ReportSpec.tools` names a class derived from it.

    Attributes:
        when: An environment variable. Where it is set, the report is also written without being asked for, with an
            empty path.
        instead: Method `instead(options, plan, registry)` that writes the `polycmp.plan.Plan` down in place of the run,
            if any of the report's options was given. Such options may mean standard output by `-`.
        inline: Method `inline(result, row)` for notebooks: returns HTML that loads nothing and can stand beside other
            HTML. `row` names the row whose picture is wanted, and is empty for the whole; what it returns is empty
            where there is none.
    """

    when: str = ""
    instead: Callable[[Any, Any, Any], None] | None = None
    inline: Callable[[Any, str], str] | None = None

    def completes(self, result: Any, registry: Any, plan: Any, model: str) -> Any:
        """Return a `polycmp.report.Result` with what such files show besides.

        Reports whose classes inherit the same method share what it returns.

        Args:
            result: The result of a command.
            registry: The plugins.
            plan: The `polycmp.plan.Plan` of the run; None for a command without one.
            model: The model, which a command without a plan may have, too.
        """
        return result
