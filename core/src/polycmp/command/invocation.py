"""One call of a command: what was asked for, and the way from there to an exit status."""

from __future__ import annotations

import logging
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from polycmp.command.build import build_plan, read_run_file, write_run_file
from polycmp.command.option_beginnings import tell_notes
from polycmp.command.params import TYPED, convert_words
from polycmp.command.paths import refuse_collisions, was_written, written_paths
from polycmp.errors import PolycmpError, UsageError
from polycmp.messages import setup_logging
from polycmp.options import OptionValues
from polycmp.options.text import CONFIG, plain_values
from polycmp.options.values import spell
from polycmp.plan import Plan
from polycmp.plan.build import log_values, report_options, without_written_files
from polycmp.plan.sections import LogSection, ModelSection, ResultSection
from polycmp.plan.text import to_values, to_words
from polycmp.report import NextStep, Result
from polycmp.report.progress import progress
from polycmp.report.writers import Subject, Writer, find_writers, present
from polycmp.terminal import echo, visible

if TYPE_CHECKING:
    import click

    from polycmp.model import Model
    from polycmp.options import FlagTable
    from polycmp.plugins import Registry
    from polycmp.results import Outcome

T = TypeVar("T")


class Invocation:
    """One call of a `BackendCommand`, with the options that the user gave.

    A command makes a plan (`plan`), says that it begins (`begin`: all wrong usage is found by then), does
    its work inside `progress`, and ends with `present`.

    Args:
        ctx: Click's context.
        registry: The plugins.
        table: The command's options.

    Attributes:
        params: The values of click's own parameters, by name.
        registry: The plugins.
        table: The command's options.
    """

    def __init__(self, ctx: click.Context, registry: Registry, table: FlagTable) -> None:
        self._ctx = ctx
        self.params: Mapping[str, Any] = ctx.params
        self.registry: Registry = registry
        self.table: FlagTable = table
        self._writers: list[Writer] = []
        self._errors: list[PolycmpError] = []
        self._plan: Plan | None = None
        self._start = time.time()

    @property
    def own_params(self) -> Mapping[str, Any]:
        """The values of the arguments and options that are the command's own, and declared to click alone."""
        of_table = {"__".join(key).replace("-", "_") for key in self.table.targets}
        return {name: value for name, value in self.params.items() if name not in of_table}

    @property
    def path(self) -> str:
        """The words of the command, with the program's name: `polycmp run`."""
        return self._ctx.command_path

    @property
    def verbose(self) -> bool:
        """Whether the user wants to see everything."""
        return bool(self.params.get("verbose", 0))

    @cached_property
    def options(self) -> OptionValues:
        """The values of all options, and the arguments beside them; a run file stands in for what was not typed.

        Those of sections that the command does not have are the defaults.

        Raises:
            FileError: The run file cannot be read.
            UsageError: A text cannot be its option's value.
        """
        typed = OptionValues(
            convert_words(self._ctx.command.get_params(self._ctx), self._ctx.params),
            self.table.classes,
            model=self.params.get("model") or "",
            backends=_with_second_model(
                self.params.get("backend") or (), self.params.get("reference_model") or "", self.path
            ),
            command=shlex.join(["polycmp", *self._ctx.meta.get(TYPED, sys.argv[1:])]),
        )
        return typed.over(read_run_file(typed.values[CONFIG], self.table)) if CONFIG in typed.values else typed

    def section(self, options: type[T]) -> T:
        """Return the values of a section: of the command's own, or of the core's."""
        return self.options.section(options)

    def was_given(self, kind: str, owner: str = "") -> bool:
        """Return whether any option of a kind (`"core"`, `"data_loader"`, …), or of one owner of it, was given."""
        return any(key.kind == kind and owner in ("", key.owner) for key in self.options.values)

    def plan(self, *, model: str = "", options: OptionValues | None = None) -> Plan:
        """Return the plan of a run.

        Args:
            model: The model where the user names none.
            options: Other options than the user's.

        Raises:
            UsageError: Options contradict each other or their values cannot be right.
            PluginError: Something asked for by name is not there.
        """
        options = options or self.options
        return build_plan(options if options.model or not model else replace(options, model=model), self.registry)

    def open_model(
        self,
        *,
        loaders: Mapping[str, Any] | None = None,
        input_shapes: Iterable[str] = (),
    ) -> Model:
        """Open the model of a command without a plan, and the source of its inputs; set up logging.

        Args:
            loaders: Options instances by loader, in place of those on the command line.
            input_shapes: Shapes besides those of `--input-shapes`, spelled as there.

        Raises:
            UsageError: No model was given, or an option's value cannot be right.
            ModelError: There is no such file, or nothing reads it.
        """
        from polycmp._inputs import PlanSource, asked_shapes
        from polycmp.command.build import runner_options
        from polycmp.model import Model, ModelSettings
        from polycmp.plan.build import data_plan, loader_options

        options = self.options
        path = options.model
        self.begin(reads=[("MODEL", path)] if path else ())
        if not path:
            raise UsageError("no model given", hint=f"{self.path} MODEL (put the model first)")
        asked = options.of("core", "data")
        shapes = (*asked.get("input_shapes", ()), *input_shapes)
        data = data_plan(options.replaced("core", "data", {**asked, "input_shapes": shapes}), self.registry)
        loader_instances = loader_options(options, self.registry)
        model = Model(
            path,
            self.registry,
            ModelSettings(
                {**loader_instances, **(loaders or {})},
                data.input_shapes,
                PlanSource(data, self.registry),
                options.section(ModelSection).model_type,
                runner_options(options, self.registry),
            ),
        )
        if data.dimensions:
            model.input_shapes = asked_shapes(data, model.describe())
        return model

    def begin(self, plan: Plan | None = None, *, reads: Iterable[tuple[str, str]] = ()) -> None:
        """Find the writers of the reports, and set up logging as the options say.

        Args:
            plan: The plan, where there is one.
            reads: Without a plan: what else is read, by what it is called, so that nothing overwrites it.

        Raises:
            UsageError: A file would be overwritten, or no report has the suffix of one.
            PluginError: No installed plugin writes a report that was asked for.
        """
        if plan is None:
            refuse_collisions(self.options, others=reads)
        options = report_options(self.options, self.registry) if plan is None else plan.report_options
        reports = self.section(ResultSection).report
        self._writers = find_writers(reports, self.registry, options)
        self._plan = plan
        self.start_messages()

    def start_messages(self) -> None:
        """Set messages up as the options of messages say, and tell the remarks on the words of the command."""
        log = self.section(LogSection)
        setup_logging(
            verbose=self.params.get("verbose", 0),
            quiet=self.params.get("quiet", 0),
            verbosity=log.verbosity,
            silent=log.silent,
            log_format=log.log_format,
            log_file=log.log_file or None,
        )
        tell_notes(self._ctx)

    def warn(self, texts: Iterable[str]) -> None:
        """Print the warnings that the user should see before anything runs."""
        for text in texts:
            logging.getLogger("polycmp.command").warning("%s", text)

    def progress(self) -> AbstractContextManager[Callable[[str], None]]:
        """Return a context manager that gives the function to tell what happens next."""
        return progress(silent=self.section(LogSection).silent)

    def run(self, plan: Plan) -> Result:
        """Run a plan as `polycmp run` does and return what was found."""
        from polycmp.report.run_result import result_of
        from polycmp.session.engine import run_plan

        shown = list[str]()
        try:
            with self.progress() as on_stage:
                outcome = run_plan(plan, self.registry, on_stage, shown.append)
        except KeyboardInterrupt:
            for text in filter(None, shown):
                echo(visible(f"polycmp: {text}"), err=True)
            raise
        self._errors = outcome.errors
        return result_of(outcome)

    def result_of(self, outcome: Outcome, name: str) -> Result:
        """Return the result that an outcome makes, for a command of this name that compares without a run."""
        from polycmp.report.run_result import result_of

        return result_of(outcome, name)

    def present(self, result: Result, errors: Iterable[PolycmpError] = (), *, plan: Plan | None = None) -> int:
        """Show a result, write its reports, and return the exit status.

        Args:
            result: The result.
            errors: Errors of observers that did not stop the command's own work.
            plan: The run that the result is about, where it is not the one that was asked for.

        Raises:
            PolycmpError: A report cannot be written, or something went wrong in an observer of the run.
        """
        result = replace(result, content=(*result.content, *self._next_steps(result)))
        quiet = bool(self.params.get("quiet", 0))
        about = Subject(plan or self._plan, self.options.model)
        try:
            status = present(result, self._writers, self.registry, about, verbose=self.verbose, quiet=quiet)
        finally:
            if not quiet:
                self.tell_written()
        for error in (*self._errors, *errors):
            raise error
        return status

    def _next_steps(self, result: Result) -> Iterator[NextStep]:
        """Yield the commands of plugins that ask to be named as next steps after this one."""
        plan, words = self._plan, self.path.partition(" ")[2]
        if result.verdict != "failed" or plan is None or any(item.model or item.elsewhere for item in plan.backends):
            return
        asked = [item for item in self.registry.commands.values() if words in item.spec.after]
        driven = [
            item for item in plan.backends if (runner := self.registry.runners.get(item.backend)) and runner.spec.needs
        ]
        if not asked or not driven or len({item.backend for item in plan.backends}) < 2:
            return
        for item in asked:
            try:
                table = self.registry.load(item).table_of(self.registry)
                named = to_words(without_written_files(plan), self.registry, command=item.spec.path, table=table)
            except PolycmpError:  # a value that no text means, or a broken plugin: there is no command to type
                continue
            yield NextStep(shlex.join(["polycmp", *named]), item.spec.summary)

    def tell_written(self) -> None:
        """Print the files named by options that were written since the call began."""
        log = self.section(LogSection)
        if log.silent:
            return
        for path in dict.fromkeys(written_paths(self.options, self.table)):
            if path != log.log_file and was_written(path, self._start):
                echo(f"wrote {path}", err=True)

    def write_run_file(self, plan: Plan, path: str) -> None:
        """Write the run file that repeats a plan with the messages of this call.

        Raises:
            FileError: The file cannot be written, or TOML cannot hold a value.
            PluginError: An option has a value that no text means.
        """
        about_messages = plain_values(log_values(self.section(LogSection)), self.table)
        write_run_file({**to_values(plan, self.registry), **about_messages}, path)

    def needs_backends(self, example: str) -> None:
        """Refuse a call without backends.

        Raises:
            UsageError: There are none; the error shows the example, with the model that was given for MODEL.
        """
        if not self.options.backends:
            model = shlex.quote(self.options.model) if self.options.model else "MODEL"
            raise UsageError("no backend given", hint=example.replace("MODEL", model))


def _with_second_model(specs: Sequence[str], model: str, command: str) -> tuple[str, ...]:
    """Return the instances asked for, and where a second model was given, each with that one, too.

    Raises:
        UsageError: There is no backend to run it, or one has a model of its own.
    """
    if not model:
        return tuple(specs)
    if not specs:
        raise UsageError(f"a second model, {model}, and no backend", hint=f"{command} MODEL {model} -b onnxrt")
    if any(":model=" in spec or ",model=" in spec for spec in specs):
        raise UsageError(f"a second model, {model}, where -b gives one with model=", hint="give only one of them")
    path = spell(model, inline=True)
    return (*specs, *(f"{spec}{',' if ':' in spec else ':'}model={path}" for spec in specs))
