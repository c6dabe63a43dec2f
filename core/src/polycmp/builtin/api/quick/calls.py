"""The calls: each is a command of polycmp with its words taken from arguments, so that they judge alike."""

from __future__ import annotations

import math
import os
import re
import shlex
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click
from numpy.typing import ArrayLike

from polycmp.builtin.api.quick.answers import Comparison, Located, Run
from polycmp.command import BackendCommand, BackendContext, Invocation
from polycmp.errors import DataError, InvalidValueError, PolycmpError, UsageError
from polycmp.options import OptionValues, spell
from polycmp.plugins import Registry
from polycmp.report import NextStep, Repeat, Result, Table
from polycmp.results import iterations_of
from polycmp.results.files import InputsWriter, OutputsWriter
from polycmp.session import run_plan

if TYPE_CHECKING:
    from polycmp.plan import Plan
    from polycmp.results import Outcome

#: Outputs of one model call: arrays by name. Tuples and lists in it stand for outputs that are numbered.
Outputs: TypeAlias = Mapping[str, "ArrayLike | Sequence[ArrayLike] | None"]
#: A file or folder of outputs, one array, outputs by name, or a list of such outputs, one for each input.
Data: TypeAlias = "str | os.PathLike[str] | ArrayLike | Outputs | Sequence[Outputs] | Iterable[Outputs]"
#: One tolerance for all outputs, or one for each by its name.
Tolerance: TypeAlias = "float | Mapping[str, float]"
#: Names of compare functions: one, or several that must all pass.
Functions: TypeAlias = "str | Sequence[str]"
#: The arguments that stand for options.
_ARGUMENTS = {
    "--atol": "atol",
    "--rtol": "rtol",
    "--compare": "compare_func",
    "--map-output": "map_output",
    "--allow-blind": "allow_blind",
    "--reference": "reference",
    "--seed": "seed",
    "--iterations": "iterations",
    "--tolerance": "tolerance",
    "--input-shapes": "shapes",
    "--load-inputs": "inputs",
}
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_HELP = re.compile(r"^polycmp (run|compare) --help$")
#: Advice to list a folder, which a program does not type; what the name may have meant stays.
_LISTED = re.compile(r"^ls \S+(?: \((.*)\))?$")


@contextmanager
def _in_python() -> Iterator[None]:
    """Let errors of a block name the arguments of these functions instead of options of the command line."""
    try:
        yield
    except PolycmpError as error:
        error.what, error.whose, error.why = (
            _FLAG.sub(_argument, text) for text in (error.what, error.whose, error.why)
        )
        error.hint = _LISTED.sub(r"\1", _HELP.sub(r"help(polycmp.\1)", _FLAG.sub(_argument, error.hint)))
        raise


def _argument(flag: re.Match[str]) -> str:
    return _ARGUMENTS.get(flag[0], flag[0])


@_in_python()
def compare(
    new: Data,
    old: Data,
    *,
    atol: Tolerance | None = None,
    rtol: Tolerance | None = None,
    compare_func: Functions = (),
    map_output: Mapping[str, str] | None = None,
    allow_blind: bool | Sequence[str] = False,
    names: tuple[str, str] = ("new", "old"),
    options: Sequence[str] = (),
) -> Comparison:
    """Compare arrays with those of a reference, by the rules of `polycmp compare`.

    NaN in the same place on both sides is a difference, on purpose: two wrong computations often agree on it. That is
    another rule than that of `numpy.testing` and `torch.testing`; `options=["--nan", "equal"]` takes them as equal.

    Either side may be an array or tensor (NumPy, PyTorch, JAX, …), a mapping from names to such, a list of mappings
    (one for each input), a table (pandas, Polars, PyArrow), compared by column, or a file or folder of outputs.
    Where an array of NumPy is masked, its mask is compared as `NAME.mask`, and what it hides is not.

    Args:
        new: The candidate.
        old: The reference.
        atol: Absolute tolerance, for all outputs or by name; 1e-5, as there is no model to measure rounding with.
        rtol: Relative tolerance, likewise; 1e-5. An element fails if it is beyond both.
        compare_func: Names of compare functions, such as `"cosine_similarity"`; all must pass.
        map_output: Names in the candidate -> names in the reference, where they differ.
        allow_blind: Outputs that pass although nothing could have differed, by name or pattern; True for all.
        names: Labels of the two sides.
        options: Further words, as `polycmp compare` takes them: `["--nan", "equal"]`.

    Raises:
        FileError: A file cannot be read.
        DataError: Something is not an array.
        UsageError: Options contradict each other, or name outputs that are not there.
    """
    if names[0] == names[1]:
        raise UsageError(f"both sides are called {names[0]!r}", hint='names=("new", "old")')
    registry = Registry.discover()
    words = [*_judging(atol, rtol, compare_func, map_output), *_accepted(allow_blind), *options]
    folder = _Folder()
    files = tuple(folder.outputs(data, label, registry) for data, label in zip((new, old), names, strict=True))
    call = _call("compare", [*files, *words], registry)
    result, outcome = call.compared(call.plan(options=call.options.replaced("core", "result", {"load_outputs": files})))
    judged = tuple(block for block in result.content if not isinstance(block, Table) or block.judged)
    return Comparison(folder.without_commands(replace(result, content=judged)), outcome, registry)


@_in_python()
def run(
    model: str | os.PathLike[str],
    *backends: str,
    shapes: Mapping[str, int | Sequence[int]] | None = None,
    inputs: Data | None = None,
    iterations: int | None = None,
    seed: int | None = None,
    atol: Tolerance | None = None,
    rtol: Tolerance | None = None,
    tolerance: str = "",
    compare_func: Functions = (),
    map_output: Mapping[str, str] | None = None,
    allow_blind: bool | Sequence[str] = False,
    reference: str = "",
    options: Sequence[str] = (),
) -> Run:
    """Run a model on several backends and compare all outputs, as `polycmp run` does.

    Args:
        model: The model's file.
        backends: Backends as the command line spells them: `"onnxrt"`, `"onnxrt:threads=1,name=one"`,
            `"onnxrt:model=old.onnx"`. The last one is the reference.
        shapes: Sizes of named dimensions (`{"batch": 4}`), and shapes of inputs (`{"image": [1, 3, 224, 224]}`).
        inputs: Inputs by name, a list of such, or a file of inputs; by default random numbers.
        iterations: Number of random inputs.
        seed: Seed of the random inputs.
        atol: Absolute tolerance, for all outputs or by name; without one, and without `rtol`, the measured rounding
            error of the outputs judges.
        rtol: Relative tolerance, likewise. An element fails if it is beyond both; one that is not given is 1e-5.
        tolerance: `"auto"` says the default aloud; a file holds what `polycmp calibrate` measured.
        compare_func: Names of compare functions, such as `"cosine_similarity"`; all must pass.
        map_output: Names in the candidate -> names in the reference, where they differ.
        allow_blind: Outputs that pass although nothing could have differed, by name or pattern; True for all.
        reference: Label of the run to compare with, or a backend that runs once; by default the last run.
        options: Further words, as `polycmp run` takes them: `["--data-loader", "stress"]`.

    Raises:
        PluginError: A backend is not installed or broken.
        PolycmpError: Nothing could be run. A backend that fails is part of what is returned.
    """
    registry = Registry.discover()
    if not backends:
        raise UsageError("no backend given", hint='polycmp.run("model.onnx", "onnxrt", "onnx")')
    common = [os.fspath(model), *(word for spec in backends for word in ("-b", spec))]
    folder = _Folder()
    common += [word for name, size in (shapes or {}).items() for word in ("--input-shapes", _shape(name, size))]
    if inputs is not None:
        common += ["--load-inputs", folder.inputs(inputs, registry)]
    common += _judging(atol, rtol, compare_func, map_output)
    common += ["--reference", reference] if reference else []
    common += ["--seed", str(seed)] if seed is not None else []
    words = [*common, *_accepted(allow_blind), *(["--tolerance", tolerance] if tolerance else [])]
    words += ["--iterations", str(iterations)] if iterations is not None else []
    call = _call("run", [*words, *options], registry)
    plan = call.plan()
    result, outcome = call.compared(plan)
    # What searches later holds the folder of inputs that were handed over in memory.
    return Run(folder.without_commands(result), outcome, registry, plan, partial(_locate, common, registry, folder))


def assert_close(
    new: Data,
    old: Data,
    *,
    atol: Tolerance | None = None,
    rtol: Tolerance | None = None,
    compare_func: Functions = (),
    map_output: Mapping[str, str] | None = None,
    allow_blind: bool | Sequence[str] = False,
    names: tuple[str, str] = ("new", "old"),
    options: Sequence[str] = (),
) -> None:
    """Fail unless arrays are within tolerance of those of a reference; for tests. Takes the arguments of `compare`.

    NaN in the same place on both sides fails, on purpose; `options=["--nan", "equal"]` takes them as equal.

    Raises:
        AssertionError: They differ, or nothing could have differed; the text says what `polycmp compare` would.
        FileError: A file cannot be read.
        DataError: Something is not an array.
        UsageError: Options contradict each other, or name outputs that are not there.
    """
    __tracebackhide__ = True
    comparison = compare(
        new,
        old,
        atol=atol,
        rtol=rtol,
        compare_func=compare_func,
        map_output=map_output,
        allow_blind=allow_blind,
        names=names,
        options=options,
    )
    if not comparison.passed:
        raise AssertionError(f"{comparison.sentence}\n\n{comparison}")


class _Folder:
    """A temporary folder for what was handed over in memory; it goes when nothing can use it any more."""

    def __init__(self) -> None:
        self._path, self._written = tempfile.mkdtemp(prefix="polycmp-"), 0
        weakref.finalize(self, shutil.rmtree, self._path, ignore_errors=True)

    def inputs(self, data: Data, registry: Registry) -> str:
        """Return the file of inputs, which is written unless it is one."""
        if isinstance(data, str | os.PathLike):
            return os.fspath(data)
        path = self._new()
        with InputsWriter(path, registry, lasting=False) as writer:
            for feed in iterations_of(data, masks=False):
                writer.add(feed)
        return path

    def without_commands(self, result: Result) -> Result:
        """Return a result without commands to type next that read what lies here, where anything does."""
        kept = tuple(block for block in result.content if not isinstance(block, NextStep | Repeat))
        return replace(result, content=kept) if self._written else result

    def outputs(self, data: Data, label: str, registry: Registry) -> str:
        """Return the file of outputs, which is written unless it is one.

        Raises:
            DataError: There is nothing in it.
        """
        if isinstance(data, str | os.PathLike):
            return os.fspath(data)
        path, count = self._new(), 0
        with OutputsWriter(path, registry, lasting=False) as writer:
            for outputs in iterations_of(data):
                writer.add(label, outputs)
                count += len(outputs)
        if not count:
            raise DataError("there is no array to compare", whose=label)
        return path

    def _new(self) -> str:
        self._written += 1
        return str(Path(self._path, f"{self._written}.npz"))


class _Recording(Invocation):
    """A call of a command that keeps what was found instead of printing it.

    Args:
        command: The command.
        words: The words after the command's own.
        registry: The plugins.

    Attributes:
        result: The result; None before there is one.
    """

    def __init__(self, command: BackendCommand, words: Sequence[str], registry: Registry) -> None:
        context = command.make_context(command.name, list(words), obj=registry)
        assert isinstance(context, BackendContext)
        super().__init__(context, context.registry, context.table)
        self._command, self._line = command, shlex.join(["polycmp", str(command.name), *words])
        self.result: Result | None = None

    def plan(self, *, model: str = "", options: OptionValues | None = None) -> Plan:
        """Return the plan; its command line is the one that does the same."""
        return replace(super().plan(model=model, options=options), command=self._line)

    def compared(self, plan: Plan) -> tuple[Result, Outcome]:
        """Carry a plan out, with the distributions of errors, and return what was found in both forms.

        Raises:
            PolycmpError: Nothing could be run, or something of it is incomplete.
        """
        watched = replace(plan, compare=replace(plan.compare, detail=True))
        with self.progress() as tell:
            outcome = run_plan(watched, self.registry, tell)
        if outcome.errors:
            raise outcome.errors[0]
        return self.result_of(outcome, str(self._command.name)), outcome

    def begin(self, plan: Plan | None = None, *, reads: Iterable[tuple[str, str]] = ()) -> None:
        """Leave messages as the program has them: there are no reports to prepare."""

    def present(self, result: Result, errors: Iterable[PolycmpError] = (), *, plan: Plan | None = None) -> int:
        """Keep what was found.

        Raises:
            PolycmpError: Something of it is incomplete.
        """
        self.result = result
        for error in errors:
            raise error
        return result.exit_code

    def carry_out(self) -> Result:
        """Carry the command out and return what it found."""
        self._command.run(self)
        assert self.result is not None
        return self.result


def _call(name: str, words: Sequence[str], registry: Registry) -> _Recording:
    """Return a call of the command of a plugin.

    Raises:
        PluginError: The plugin is not installed or broken.
        UsageError: The words mean nothing to the command.
    """
    contribution = registry.find_command(name)
    try:
        return _Recording(registry.load(contribution, contribution.spec.target), words, registry)
    except click.ClickException as error:
        raise UsageError(f"{name}: {error.format_message()}") from error


def _locate(words: Sequence[str], registry: Registry, _folder: _Folder) -> Located:
    call = _call("locate", words, registry)
    return Located(call.carry_out(), registry, call.plan())


def _judging(
    atol: Tolerance | None, rtol: Tolerance | None, compare_func: Functions, map_output: Mapping[str, str] | None
) -> list[str]:
    """Return the words that say how to judge."""
    words = [*_tolerance("atol", atol), *_tolerance("rtol", rtol)]
    functions = [compare_func] if isinstance(compare_func, str) else [*compare_func]
    words += ["--compare", *functions] if functions else []
    return words + [word for name, other in (map_output or {}).items() for word in ("--map-output", f"{name}={other}")]


def _accepted(allow_blind: bool | Sequence[str]) -> list[str]:
    if isinstance(allow_blind, bool):
        return ["--allow-blind"] if allow_blind else []
    names = [allow_blind] if isinstance(allow_blind, str) else allow_blind
    return [word for name in names for word in ("--allow-blind", name)]


def _tolerance(argument: str, tolerance: Tolerance | None) -> Iterator[str]:
    flag = f"--{argument}"
    if isinstance(tolerance, Mapping):
        for name, value in tolerance.items():
            yield from (flag, spell(f"{_limit(f'{argument}={{{name!r}: {value!r}}}', value):.17g}", name, named=True))
    elif tolerance is not None:
        yield from (flag, f"{_limit(f'{argument}={tolerance!r}', tolerance):.17g}")


def _limit(given: str, value: object) -> float:
    """Return a tolerance as a number.

    Args:
        given: The argument as the program gave it, for the error.
        value: The tolerance.

    Raises:
        InvalidValueError: It is none.
    """
    try:
        limit = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        limit = math.nan
    if limit >= 0:
        return limit
    argument = given.partition("=")[0]
    raise InvalidValueError(
        f"{given} is no tolerance",
        why="a tolerance is a number from 0 on, or a mapping from names of outputs to such",
        hint=f'{argument}=1e-5, or {argument}={{"logits": 1e-3}}',
    )


def _shape(name: str, size: int | Sequence[int]) -> str:
    if isinstance(size, Sequence):
        return spell(f"[{','.join(str(int(item)) for item in size)}]", name, named=True)
    return f"{name}={int(size)}"
