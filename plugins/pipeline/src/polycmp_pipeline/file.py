"""Reader of pipeline files: samples and stages in their order."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.errors import FileError, PolycmpError, UsageError, describe_exception, did_you_mean
from polycmp.options import parse_toml, spell, split_script
from polycmp.plan import Plan, from_values

if TYPE_CHECKING:
    from polycmp.plugins import Registry

_SOURCES = ("files", "load-inputs", "data-loader-script")
_TOP = (*_SOURCES, "defaults", "stage")
_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True)
class Source:
    """Source of the samples; exactly one attribute is set.

    Attributes:
        files: Paths and patterns of files, each a sample: the value `path`.
        load_inputs: Files of saved inputs, each iteration a sample.
        script: `FILE.py[:NAME]` of a function that yields samples.
    """

    files: tuple[str, ...] = ()
    load_inputs: tuple[str, ...] = ()
    script: str = ""


@dataclass(frozen=True)
class Function:
    """A function in a Python file.

    Attributes:
        path: The file.
        name: Its name there.
    """

    path: str
    name: str

    @property
    def text(self) -> str:
        """The function as a pipeline file names it."""
        return f"{self.path}:{self.name}"


@dataclass(frozen=True)
class Stage:
    """A stage: a model with two sides, or a function with one or two.

    Attributes:
        name: Its name.
        plan: How its sides run and are compared; without backends for a function.
        functions: The new function and the reference's; None for a model.
        reads: Names of values: a function's arguments in their order, or by input of a model.
        makes: Names of what it makes: of a function's results in their order, or by output of a model.
        feedback: Outputs of a model, by the input that the next item of a list gets them as.
    """

    name: str
    plan: Plan
    functions: tuple[Function, Function] | None = None
    reads: Mapping[str, str] | tuple[str, ...] = ()
    makes: Mapping[str, str] | tuple[str, ...] = ()
    feedback: Mapping[str, str] = field(default_factory=dict)

    @property
    def subject(self) -> str:
        """The new side's model or function, and the reference's where that is another one."""
        if self.functions is not None:
            return " against ".join(dict.fromkeys(function.text for function in self.functions))
        models = (backend.model or self.plan.model for backend in self.plan.backends)
        return " against ".join(dict.fromkeys(models))

    @property
    def is_same(self) -> bool:
        """Whether both sides are the same function, or the same model with the same settings."""
        if self.functions is not None:
            return self.functions[0] == self.functions[1]
        kinds = {(item.backend, repr(item.options), item.model, item.elsewhere) for item in self.plan.backends}
        return len(kinds) == 1


@dataclass(frozen=True)
class Pipeline:
    """A pipeline.

    Attributes:
        path: The file.
        source: Where the samples come from.
        stages: The stages in their order.
    """

    path: str
    source: Source
    stages: tuple[Stage, ...]


def read_pipeline(path: str, registry: Registry, backends: Sequence[Any] = ()) -> Pipeline:
    """Return the pipeline of a file.

    Args:
        path: The file.
        registry: The plugins.
        backends: Backends of every model in place of those in the file; none for those.

    Raises:
        FileError: The file cannot be read.
        UsageError: It is no TOML, or something in it is wrong.
        PluginError: Something that it names is not installed.
    """
    content = _content(path)
    unknown = next((key for key in content if key not in _TOP), "")
    if unknown:
        raise UsageError(f"there is no key {unknown!r}", whose=path, why=did_you_mean(unknown, _TOP))
    defaults, tables = content.get("defaults", {}), content.get("stage", [])
    if not isinstance(defaults, dict):
        raise UsageError("defaults are a table", whose=path, hint="[defaults]")
    if not isinstance(tables, list) or not tables or not all(isinstance(item, dict) for item in tables):
        raise UsageError("there are no stages", whose=path, hint="write each as [[stage]]")
    typed = {"backend": list(backends)} if backends else {}
    stages: list[Stage] = []
    for number, table in enumerate(tables, start=1):
        whose = f"{path}: stage {table.get('name', number)!r}"
        try:
            stages.append(_stage(table, defaults, typed, registry))
        except PolycmpError as error:
            stage_whose = f"{whose}: {error.whose}" if error.whose else whose
            raise type(error)(error.what, whose=stage_whose, why=error.why, hint=error.hint) from error
        if stages[-1].name in [stage.name for stage in stages[:-1]]:
            raise UsageError("another stage has this name, too", whose=whose, hint="give it another one")
    return Pipeline(path, _source(content, path), tuple(stages))


def _content(path: str) -> dict[str, Any]:
    try:
        return parse_toml(Path(path).read_bytes().decode("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        folder = Path(path).parent
        raise FileError(
            f"cannot read the pipeline {path}", why=describe_exception(error), hint=f"ls {folder}"
        ) from error
    except ValueError as error:
        raise UsageError(
            f"{path} is not valid TOML", why=str(error), hint="see docs/pipelines.md for an example"
        ) from error


def _source(content: Mapping[str, Any], path: str) -> Source:
    sources = [key for key in _SOURCES if key in content]
    if len(sources) != 1:
        what = "two sources of samples" if sources else "no samples"
        why = "" if sources else "the file says nowhere where they come from"
        raise UsageError(what, whose=path, why=why, hint=f"give one of {', '.join(_SOURCES)}")
    (key,) = sources
    if key == "data-loader-script":
        return Source(script=_text(content[key], key))
    texts = _texts(content[key], key)
    return Source(files=texts) if key == "files" else Source(load_inputs=texts)


def _stage(
    table: Mapping[str, Any], defaults: Mapping[str, Any], typed: Mapping[str, Any], registry: Registry
) -> Stage:
    stage_values = {key: _STAGE_KEYS[key](table[key], key) for key in table if key in _STAGE_KEYS}
    options = {key: value for key, value in table.items() if key not in _STAGE_KEYS}
    is_function = "function" in stage_values
    if is_function == ("model" in table):
        raise UsageError(
            "a stage is a model or a function", hint='give it model = "FILE", or function = "FILE.py:NAME"'
        )
    name = stage_values.get("name", "")
    if not _NAME.fullmatch(name):
        raise UsageError("it needs a name of letters, digits, -, _ and .", hint='name = "detect"')
    shared = {key: value for key, value in defaults.items() if not (is_function and key in {"backend", "model"})}
    options = {**shared, **options, **({} if is_function else typed)}
    if is_function:
        return _function(name, stage_values, options, registry)
    return _model(name, stage_values, options, registry)


def _function(name: str, stage_values: Mapping[str, Any], options: Mapping[str, Any], registry: Registry) -> Stage:
    for key in ("feedback", "reference-model"):
        if key in stage_values:
            raise UsageError(f"{key!r} is for models", hint="leave it out")
    for key in ("inputs", "outputs"):
        if isinstance(stage_values.get(key), Mapping):
            raise UsageError(f"{key!r} of a function are names in their order", hint=f'{key} = ["picture", "boxes"]')
    if not stage_values.get("outputs"):
        raise UsageError("what does the function return?", hint='outputs = ["crops"]')
    plan = from_values(options, registry)
    if plan.backends:
        raise UsageError("a function has no backend", hint="leave it out")
    _check_plan(plan, registry)
    new, old = stage_values["function"], stage_values.get("reference-function", stage_values["function"])
    return Stage(name, plan, (new, old), stage_values.get("inputs", ()), stage_values["outputs"])


def _model(name: str, stage_values: Mapping[str, Any], options: dict[str, Any], registry: Registry) -> Stage:
    for key in ("inputs", "outputs"):
        if not isinstance(stage_values.get(key, {}), Mapping):
            raise UsageError(
                f"{key!r} of a model are a table",
                why="inputs and outputs have names",
                hint=f'{key} = {{ x = "picture" }}',
            )
    if "reference-function" in stage_values:
        raise UsageError("'reference-function' is for functions", hint="give reference-model")
    backends = options.get("backend", [])
    backends = list(backends) if isinstance(backends, (list, tuple)) else [backends]
    if "reference-model" in stage_values:
        last = _with_model(backends[-1], stage_values["reference-model"]) if backends else None
        backends = [*(backends[:-1] or backends), last] if last is not None else []
    plan = from_values({**options, "backend": backends}, registry)
    if len(plan.backends) != 2:
        raise UsageError(
            f"{len(plan.backends)} backends", why="one new side is held beside one reference",
            hint='backend = ["trt:fp16", "onnxrt"], or reference-model = "old.onnx"',
        )  # fmt: skip
    _check_plan(plan, registry)
    reads, makes = stage_values.get("inputs", {}), stage_values.get("outputs", {})
    return Stage(name, plan, None, reads, makes, stage_values.get("feedback", {}))


def _with_model(backend: Any, model: str) -> Any:
    if isinstance(backend, Mapping):
        return {**backend, "model": model}
    return f"{backend}{',' if ':' in backend else ':'}model={spell(model, inline=True)}"


def _check_plan(plan: Plan, registry: Registry) -> None:
    """Refuse options of inputs and of written files, which the pipeline sets itself."""
    plain = from_values({}, registry)
    data = replace(plan.data, map_input={}, input_shapes={}, dimensions={})  # shapes concern builders of engines, too
    if data != plain.data or plan.files != plain.files:
        raise UsageError(
            "a stage has no inputs, outputs or reports of its own",
            why="it is given what those before it made",
            hint="leave out data and file options, or give --report to `polycmp pipeline`",
        )


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{key!r} is a text")
    return value


def _texts(value: Any, key: str) -> tuple[str, ...]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not items:
        raise UsageError(f"{key!r} is a text, or a list of texts")
    return tuple(_text(item, key) for item in items)


def _names(value: Any, key: str) -> Mapping[str, str] | tuple[str, ...]:
    return _table(value, key) if isinstance(value, dict) else () if value == [] else _texts(value, key)


def _table(value: Any, key: str) -> Mapping[str, str]:
    if not isinstance(value, dict):
        raise UsageError(f"{key!r} is a table of names")
    return {name: _text(item, key) for name, item in value.items()}


def _callable(value: Any, key: str) -> Function:
    path, name = split_script(_text(value, key), "")
    if not name:
        raise UsageError(f"{key!r}: which function of {path}?", hint=f'{key} = "{path}:NAME"')
    if not Path(path).is_file():
        raise UsageError(f"{key!r}: there is no file {path}", hint=f"ls {Path(path).parent}")
    return Function(path, name)


#: The keys of a stage that are no options of `polycmp run`.
_STAGE_KEYS: Mapping[str, Callable[[Any, str], Any]] = {
    "name": _text,
    "function": _callable,
    "reference-function": _callable,
    "reference-model": _text,
    "inputs": _names,
    "outputs": _names,
    "feedback": _table,
}
