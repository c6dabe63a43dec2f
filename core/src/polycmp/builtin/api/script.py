"""A plan as a Python script: readable, standalone, and made of nothing but the `repr` of the objects."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp import __version__
from polycmp.errors import UsageError
from polycmp.files import atomic_write, to_bytes
from polycmp.loader import Loader, to_source
from polycmp.options import changed_options, fields_of, split_script
from polycmp.plan import Choice, Plan, core_values
from polycmp.plugins import Registry, missing_modules
from polycmp.runner import Runner
from polycmp.runs import labels_called, resolve
from polycmp.terminal import echo

if TYPE_CHECKING:
    from polycmp.builtin.api.plugin import ScriptOptions

WIDTH = 110

#: The core's options that a script says; it refuses a plan with any other, lest it do something else.
SAID = frozenset(
    {
        *("model_type", "input_shapes", "data_loader", "data_loader_script", "load_inputs", "map_input", "save_inputs"),
        *("warm_up", "compare", "compare_func_script", "reference", "map_output", "no_shape_check", "postprocess"),
        *("postprocess_func_script", "validate", "fail_fast", "allow_blind", "save_outputs", "load_outputs"),
    }
)
#: The options that say how much memory a run takes, and where its processes are, but not what comes of it.
MEANS = frozenset({"sequential_runners", "use_subprocess", "timeout", "max_memory"})


@dataclass
class _Script:
    """Source lines, and what they import."""

    lines: list[str] = field(default_factory=list)
    imports: dict[str, set[str]] = field(default_factory=dict)

    def use(self, module: str, name: str) -> str:
        self.imports.setdefault(module, set()).add(name)
        return name

    def use_public(self, python: str) -> str:
        """Import `"package.module:attribute"` in the script, and return the expression that calls it."""
        module, _, attribute = python.partition(":")
        self.use(module, attribute.partition(".")[0])
        return attribute

    def add(self, *lines: str) -> None:
        for line in lines:
            self.lines += _wrap(line)


def write_script(options: ScriptOptions, plan: Plan, registry: Registry) -> None:
    """Write the plan as a Python script, or print it for the path `-`.

    Raises:
        UsageError: The plan holds something that a script cannot say.
        FileError: The file cannot be written.
    """
    source = script_of(plan, registry)
    if options.file == "-":
        sys.stdout.write(source)
        return
    with atomic_write(options.file) as file:
        file.write(to_bytes(source))
    Path(options.file).chmod(Path(options.file).stat().st_mode | 0o111)


def script_of(plan: Plan, registry: Registry) -> str:
    """Return a script that does the same as the plan.

    Everything that a user typed appears in it as a quoted text, never as code.

    Raises:
        UsageError: The plan holds something that a script cannot say.
        PolycmpError: A backend or the model cannot be found.
    """
    _refuse(plan)
    script = _Script()
    _data(script, plan, registry)
    names = _runners(script, plan, registry)
    _run(script, plan, names)
    _compare(script, plan, registry, bool(plan.files.load_outputs) or len(names) > 1)
    return _finish(script, plan)


def _refuse(plan: Plan) -> None:
    """Raise for what a script would leave out without a word."""
    unsaid = [f"--{key.field.replace('_', '-')}" for key in core_values(plan) if key.field not in SAID | MEANS]
    unsaid += [f"options of the report {name}" for name in plan.report_options if name != "script"]
    unsaid += [f"options of the observer {name}" for name in plan.observer_options]
    if unsaid:
        raise UsageError(f"--gen-script: a script has no {unsaid[0]}", hint="leave it out, or run the command itself")


def _runners(script: _Script, plan: Plan, registry: Registry) -> list[str]:
    if plan.backends:
        script.add("", "# Backends: nothing is loaded before they are activated")
    names = []
    unread = replace(plan, data=replace(plan.data, files=()))  # what is written down need not be there yet
    for index, backend in enumerate(resolve(unread, registry).backends):
        runner = backend.make_runner(runs=False)
        if lacking := missing_modules(registry.find_runner(backend.plan.backend).spec):
            needs = " and ".join(name.replace("|", " or ") for name in lacking)
            echo(f"note: the script needs {needs}, not installed here", err=True)
        names.append(f"runner_{index}")
        _import_tree(script, runner)
        script.add(f"{names[-1]} = {runner.source()}")
    return names


def _import_tree(script: _Script, value: Any) -> None:
    """Import every class that a runner's or loader's source names."""
    for part in _parts(value):
        kind = part if inspect.isclass(part) or inspect.isfunction(part) else type(part)
        if kind.__module__ == "__main__" or kind.__qualname__ != kind.__name__:
            raise UsageError(f"--gen-script: {kind.__qualname__} cannot be imported by a script")
        if to_source(part).startswith(kind.__name__):
            script.use(_public_module(kind), kind.__name__)


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, (Loader, Runner)) or inspect.isclass(value) or inspect.isfunction(value):
        yield value
    if isinstance(value, (Loader, Runner)):
        for child in value.children():
            yield from _parts(child)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _parts(item)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            yield from _parts(item)
    elif is_dataclass(value) and not inspect.isclass(value):
        yield value
        for item in fields(value):
            yield from _parts(getattr(value, item.name))


def _public_module(kind: Any) -> str:
    """Return the package that exports the class, or else the module that defines it."""
    package = kind.__module__.partition(".")[0]
    module = __import__(package)
    return package if getattr(module, kind.__name__, None) is kind else str(kind.__module__)


def _data(script: _Script, plan: Plan, registry: Registry) -> None:
    script.add("", "# Inputs")
    data = plan.data
    for name in data.followers:
        raise UsageError(f"--gen-script: a script cannot feed outputs back (the options of {name!r})")
    if data.files:
        opened = script.use("polycmp.results.files", "open_inputs")
        script.add(f"data_loader = {opened}({to_source(list(data.files))})")
    elif data.script:
        path, name = split_script(data.script, "load_data")
        maker = script.use("polycmp.data", "make_script_loader")
        script.add(f"data_loader = {maker}({path!r}, {name!r})")
    if data.files or data.script:
        if data.map_input:
            renamed = script.use("polycmp.runs", "RenamedFeeds" if data.files else "renamed_source")
            script.add(f"data_loader = {renamed}(data_loader, {to_source(dict(data.map_input))})")
        return
    python = registry.tools(registry.find_data_loader(data.loader.name)).python
    if python:
        options = changed_options(data.loader.options)
        arguments = [f"{name}={to_source(value)}" for name, value in options.items()]
        if data.further_shapes:
            shapes = [dict(item) for item in (data.input_shapes, *data.further_shapes)]
            arguments.append(f"input_shapes={to_source(shapes)}")
        elif data.input_shapes:
            arguments.append(f"input_shapes={to_source(dict(data.input_shapes))}")
        if data.dimensions:
            arguments.append(f"dimensions={to_source(dict(data.dimensions))}")
        script.add(f"data_loader = {script.use_public(python)}({', '.join(arguments)})")
    else:
        raise UsageError(
            f"--gen-script: a script cannot use the data loader {data.loader.name!r}",
            hint="save the inputs with --save-inputs and give them with --load-inputs",
        )


def _run(script: _Script, plan: Plan, names: list[str]) -> None:
    comparator = script.use("polycmp.comparator", "Comparator")
    script.add("", "# Running")
    if names:
        arguments = [f"[{', '.join(names)}]", "data_loader"]
        if plan.warm_up:
            arguments.append(f"warm_up={plan.warm_up}")
        if plan.data.map_input and not plan.data.script:
            arguments.append(f"map_input={to_source(dict(plan.data.map_input))}")
        for parameter, path in (
            ("save_inputs_path", plan.files.save_inputs),
            ("save_outputs_path", plan.files.save_outputs),
        ):
            if path:
                arguments.append(f"{parameter}={path!r}")
        script.add(f"results = {comparator}.run({', '.join(arguments)})")
    else:
        script.add(f"results = {script.use('polycmp.comparator', 'RunResults')}()")
    for path in plan.files.load_outputs:
        loaded = script.use("polycmp.comparator", "RunResults")
        script.add(f"for item in {loaded}.load({path!r}):", "    results.append(item)")
    _postprocess(script, plan)


def _postprocess(script: _Script, plan: Plan) -> None:
    compare = plan.compare
    if compare.postprocess:
        function = script.use("polycmp.comparator", "PostprocessFunc")
        parse = script.use("polycmp.comparator", "parse_postprocess")
        wanted = ", ".join(f"{name!r}: {parse}({text!r})" for name, text in compare.postprocess.items())
        script.add(f"results = Comparator.postprocess(results, {function}.top_k({{{wanted}}}))")
    if compare.postprocess_script:
        path, name = split_script(compare.postprocess_script, "postprocess_outputs")
        load = script.use("polycmp.loader", "load_script")
        script.add(f"results = Comparator.postprocess(results, {load}({path!r}, {name!r}))")


def _compare(script: _Script, plan: Plan, registry: Registry, several: bool) -> None:
    script.add("", "# Comparing", f"passed, compared = True, {not several}")
    if plan.compare.validate:
        script.add("passed = Comparator.validate(results, check_inf=True) and passed")
    if several:
        functions = _functions(script, plan, registry)
        arguments = [
            "results",
            f"compare_func={functions[0] if len(functions) == 1 else '[' + ', '.join(functions) + ']'}",
        ]
        if plan.compare.fail_fast:
            arguments.append("fail_fast=True")
        if plan.compare.map_output:
            arguments.append(f"map_output={to_source(dict(plan.compare.map_output))}")
        if not plan.compare.shape_check:
            arguments.append("shape_check=False")
        if plan.compare.reference:
            labels = labels_called(plan.compare.reference, plan.backends)
            arguments.append(f"reference={(labels[0] if len(labels) == 1 else plan.compare.reference)!r}")
        if plan.compare.allow_blind:
            arguments.append(f"allow_blind={list(plan.compare.allow_blind)!r}")
        call = f"Comparator.compare_accuracy({', '.join(arguments)})"
        several_functions = len(functions) > 1
        script.add(f"for accuracy in {call}:" if several_functions else f"accuracy = {call}")
        for line in (
            "print(accuracy.describe())",
            "passed = bool(accuracy) and passed",
            'compared = compared or (accuracy.compared and accuracy.verdict in ("passed", "failed"))',
        ):
            script.add(f"    {line}" if several_functions else line)
    script.add('print("PASSED" if passed else "FAILED" if compared else "ERROR")')
    script.add("return 0 if passed else 1 if compared else 3")


def _functions(script: _Script, plan: Plan, registry: Registry) -> list[str]:
    if plan.compare.script:
        path, name = split_script(plan.compare.script, "compare_outputs")
        return [f"{script.use('polycmp.compare', 'load_compare_script')}({path!r}, {name!r})"]
    return [_function(script, choice, registry) for choice in plan.compare.functions]


def _function(script: _Script, choice: Choice, registry: Registry) -> str:
    python = registry.tools(registry.find_compare_func(choice.name)).python
    if not python:
        raise UsageError(f"--gen-script: a script cannot use the compare function {choice.name!r} of a plugin")
    named = len(fields_of(choice.options)) > 1
    arguments = ", ".join(
        f"{name}={to_source(value)}" if named else to_source(value)
        for name, value in changed_options(choice.options).items()
    )
    return f"{script.use_public(python)}({arguments})"


def _finish(script: _Script, plan: Plan) -> str:
    script.use("polycmp.errors", "PolycmpError")
    head = [
        "#!/usr/bin/env python3",
        f'"""Compares {len(plan.backends) + len(plan.files.load_outputs)} runs. Written by polycmp {__version__}."""',
        "",
        "import sys",
        "",
        *[f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(script.imports.items())],
        "",
        "# What was typed",
        f"COMMAND = {plan.command!r}",
        "",
        "",
        "def main() -> int:",
        '    """Run, compare, and return the exit status: 0 equal, 1 different, 3 could not compare."""',
    ]
    foot = [
        "",
        "",
        'if __name__ == "__main__":',
        "    try:",
        "        sys.exit(main())",
        "    except PolycmpError as error:",
        "        print(error, file=sys.stderr)",
        "        sys.exit(error.exit_code)",
    ]
    body = [f"    {line}" if line else "" for line in script.lines[1:]]
    text = "\n".join([*head, *body, *foot]) + "\n"
    ast.parse(text)  # a script that is no Python is a fault of ours, and must not reach a user
    return text


def _wrap(line: str) -> list[str]:
    """Break a long line after the commas of its outermost call."""
    if len(line) <= WIDTH or line.rstrip()[-1:] not in ")]":
        return [line]
    try:
        tree = ast.parse(line.strip()).body[0]
    except SyntaxError:
        return [line]
    call = getattr(tree, "value", None)
    if not isinstance(call, ast.Call):
        return [line]
    return _wrap_call(line, call)


def _wrap_call(line: str, call: ast.Call) -> list[str]:
    arguments: Iterable[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    parts = [ast.get_source_segment(line, item) or "" for item in arguments]
    start = (call.func.end_col_offset or 0) + 1
    head = line.encode()[:start].decode()
    return [head, *(f"    {part}," for part in parts), ")"]
