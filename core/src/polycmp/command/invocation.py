"""One call of a command: what was asked for, and the way from there to an exit status."""

from __future__ import annotations

import logging
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from polycmp.command.build import Given, build_plan, convert, convert_one, read_run_file, write_run_file
from polycmp.command.params import TYPED, collect
from polycmp.command.paths import refuse_collisions, was_written, written_paths
from polycmp.errors import UsageError
from polycmp.messages import setup_logging
from polycmp.plan import Plan
from polycmp.plan.build import Settings, report_options, section_values
from polycmp.plan.text import CONFIG, plain_values, to_values
from polycmp.report import Result
from polycmp.report.progress import progress
from polycmp.report.writers import Writer, find_writers, present
from polycmp.terminal import echo
from polycmp.values import spell

if TYPE_CHECKING:
    from polycmp.command.base import BackendCommand, BackendContext
    from polycmp.model import Model
    from polycmp.plan.flags import FlagTable
    from polycmp.plugins import Registry

T = TypeVar("T")


class Invocation:
    """What a user asked a `BackendCommand` for.

    A command makes a plan (`plan`), says that it begins (`begin`: whatever can be wrong usage is found by then), does
    its work inside `progress`, and ends with `present`.

    Args:
        ctx: Click's context.
        command: The command.

    Attributes:
        params: The values of click's own parameters, by name.
        registry: The plugins.
        table: The command's options.
        sections: Where the core's and the command's own options are declared.
    """

    def __init__(self, ctx: BackendContext, command: BackendCommand) -> None:
        self._ctx = ctx
        self.params: Mapping[str, Any] = ctx.params
        self.registry: Registry = ctx.registry
        self.table: FlagTable = ctx.table
        self.sections: Mapping[str, type] = command.sections
        self._writers: list[Writer] = []
        self._plan: Plan | None = None
        self._start = time.time()

    @property
    def path(self) -> str:
        """The words of the command, with the program's name: `polycmp run`."""
        return self._ctx.command_path

    @property
    def verbose(self) -> bool:
        """Whether the user wants to see everything."""
        return bool(self.params.get("verbose", 0))

    @cached_property
    def given(self) -> Given:
        """What was asked for, as text; a run file is read where the command has the option for it.

        Raises:
            FileError: The run file cannot be read.
            UsageError: It says something that cannot be.
        """
        given = Given(
            model=self.params.get("model") or "",
            backends=_with_second_model(self.params.get("backend") or (), self.params.get("reference_model") or ""),
            values=collect(self._ctx.command.get_params(self._ctx), self._ctx.params),
            command=shlex.join(["polycmp", *self._ctx.meta.get(TYPED, sys.argv[1:])]),
        )
        if CONFIG in given.values:
            path = convert_one(self.table.targets[CONFIG], given.values[CONFIG])
            given = replace(given, run_file=read_run_file(path, self.table))
        return given

    @cached_property
    def settings(self) -> Settings:
        """The options as values; those of sections that the command does not have are the defaults.

        Raises:
            UsageError: A text cannot be its option's value.
        """
        return convert(self.given, self.table, self.sections)

    def section(self, options: type[T]) -> T:
        """Return the values of a section: of the command's own, or of the core's."""
        found: T = next(item for item in self.settings.core.values() if type(item) is options)
        return found

    def was_given(self, kind: str, owner: str = "") -> bool:
        """Return whether any option of a kind (`"core"`, `"data_loader"`, …), or of one owner of it, was given."""
        keys = (*self.given.values, *self.given.run_file.values)
        return any(key.kind == kind and owner in ("", key.owner) for key in keys)

    def plan(self, *, model: str = "", settings: Settings | None = None) -> Plan:
        """Return the plan of a run.

        Args:
            model: The model where the user names none.
            settings: Other settings than the user's.

        Raises:
            UsageError: Options contradict each other or their values cannot be right.
            PluginError: Something asked for by name is not there.
        """
        given = replace(self.given, model=self.given.model or model)
        return build_plan(given, settings or self.settings, self.registry)

    def open_model(
        self,
        *,
        loaders: Mapping[str, Any] | None = None,
        input_shapes: Iterable[str] = (),
        reads: Iterable[tuple[str, str]] = (),
    ) -> Model:
        """Return the model that a command without a plan works on, and what makes inputs for it; set logging up.

        Args:
            loaders: Options instances by loader, in place of those on the command line.
            input_shapes: Shapes besides those of `--input-shapes`, spelled as there.
            reads: What else is read, by what it is called, so that nothing overwrites it.

        Raises:
            UsageError: No model was given, or an option's value cannot be right.
            ModelError: There is no such file, or nothing reads it.
        """
        from polycmp.command.build import runner_options
        from polycmp.inputs import asked_shapes, make_source
        from polycmp.model import Model, ModelSettings
        from polycmp.plan.build import data_plan, loader_options

        model, settings = self.given.model, self.settings
        self.begin(reads=[*([("MODEL", model)] if model else ()), *reads])
        if not model:
            raise UsageError("no model given", hint=f"{self.path} MODEL (put the model first)")
        section = settings.core["data"]
        shapes = (*section.input_shapes, *input_shapes)
        core = {**settings.core, "data": replace(section, input_shapes=shapes)}
        data = data_plan(replace(settings, core=core), self.registry)
        given = loader_options(settings, self.registry)
        made = Model(
            model,
            self.registry,
            ModelSettings(
                {**given, **(loaders or {})},
                data.input_shapes,
                make_source(data, self.registry),
                settings.core["model"].model_type,
                runner_options(settings, self.registry),
            ),
        )
        if data.dimensions:
            made.input_shapes = asked_shapes(data, made.describe())
        return made

    def begin(self, plan: Plan | None = None, *, reads: Iterable[tuple[str, str]] = ()) -> None:
        """Find who writes the reports, and set logging up as the options say.

        Args:
            plan: The plan, where there is one.
            reads: Without a plan: what else is read, by what it is called, so that nothing overwrites it.

        Raises:
            UsageError: A file would be overwritten, or no report has the suffix of one.
            PluginError: What writes a report is not there.
        """
        if plan is None:
            refuse_collisions(self.settings, others=reads)
        options = report_options(self.settings, self.registry) if plan is None else plan.report_options
        reports = self.settings.core["result"].report
        self._writers = find_writers(reports, self.registry, options)
        self._plan = plan
        log = self.settings.core["log"]
        setup_logging(
            verbose=self.params.get("verbose", 0),
            quiet=self.params.get("quiet", 0),
            verbosity=log.verbosity,
            silent=log.silent,
            log_format=log.log_format,
            log_file=log.log_file or None,
        )

    def warn(self, texts: Iterable[str]) -> None:
        """Say what the user should know before anything runs."""
        for text in texts:
            logging.getLogger("polycmp.command").warning("%s", text)

    def progress(self) -> AbstractContextManager[Callable[[str], None]]:
        """Return a context manager that gives the function to tell what happens next."""
        return progress(silent=self.settings.core["log"].silent)

    def run(self, plan: Plan) -> Result:
        """Run a plan as `polycmp run` does and return what was found."""
        from polycmp.report.run_result import result_of
        from polycmp.session.engine import run_plan

        with self.progress() as on_stage:
            return result_of(run_plan(plan, self.registry, _with_console(on_stage)))

    def present(self, result: Result) -> int:
        """Show a result, write its reports, and return the exit status.

        Raises:
            PolycmpError: A report cannot be written.
        """
        quiet = bool(self.params.get("quiet", 0))
        about = (self._plan, self.given.model)
        try:
            return present(result, self._writers, self.registry, about, verbose=self.verbose, quiet=quiet)
        finally:
            if not quiet:
                self.tell_written()

    def tell_written(self) -> None:
        """Say which of the files that the options name were written since the call began."""
        log = self.settings.core["log"]
        if log.silent:
            return
        for path in dict.fromkeys(written_paths(self.settings, self.table)):
            if path != log.log_file and was_written(path, self._start):
                echo(f"wrote {path}", err=True)

    def write_run_file(self, plan: Plan, path: str) -> None:
        """Write the run file that repeats a plan with the messages of this call.

        Raises:
            FileError: The file cannot be written, or TOML cannot hold a value.
            PluginError: An option has a value that no text means.
        """
        about_messages = plain_values(section_values("log", self.settings.core["log"]), self.table)
        write_run_file({**to_values(plan, self.registry), **about_messages}, path)

    def needs_backends(self, example: str) -> None:
        """Refuse a call without backends.

        Raises:
            UsageError: There are none; the error shows the example.
        """
        if not (self.given.backends or self.given.run_file.backends):
            raise UsageError("no backend given", hint=example)


def _with_console(on_stage: Callable[[str], None]) -> Callable[[str], None]:
    """Return a function that tells what happens next, and has the console imported while backends work."""
    importing = threading.Thread(target=import_module, args=("polycmp.report.console",), daemon=True)
    stages = iter(("first", "second"))  # in the first, backends import libraries, which takes all of the interpreter

    def tell(text: str) -> None:
        if next(stages, "") == "second":
            importing.start()
        on_stage(text)

    return tell


def _with_second_model(specs: Sequence[str], model: str) -> tuple[str, ...]:
    """Return the instances asked for, and where a second model was given, each with that one, too.

    Raises:
        UsageError: There is no backend to run it, or one has a model of its own.
    """
    if not model:
        return tuple(specs)
    if not specs:
        raise UsageError(f"a second model, {model}, and no backend", hint=f"polycmp run MODEL {model} -b onnxrt")
    if any(":model=" in spec or ",model=" in spec for spec in specs):
        raise UsageError(f"a second model, {model}, where -b gives one with model=", hint="leave one of them out")
    path = spell(model, inline=True)
    return (*specs, *(f"{spec}{',' if ':' in spec else ':'}model={path}" for spec in specs))
