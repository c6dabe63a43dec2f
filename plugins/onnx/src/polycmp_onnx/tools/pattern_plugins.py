"""`polycmp plugin list`, `match` and `replace`: parts of a model for which somebody has a TensorRT plugin.

A folder holds one folder per plugin, with a `pattern.py` in it. That has `get_matching_subgraphs(graph)`, which returns
`{"inputs": […], "outputs": […], "attributes": {…}}` with names of tensors for each part that fits,
`get_plugin_metadata()`, which returns `{"name": …, "op": …}`, and it may have
`replace_with_plugin(graph, input_tensors, output_tensors, attrs, op)`. The graph is one of onnx-graphsurgeon.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polycmp.command import BackendCommand, examples, verbosity_params
from polycmp.spec import opt
from polycmp.terminal import echo, visible
from polycmp_onnx.tools.frame import model_argument, output_option

if TYPE_CHECKING:
    from polycmp.command import Invocation

PATTERN = "pattern.py"
CONFIG = "config.yaml"


@dataclass(frozen=True)
class PluginsSection:
    """Plugins."""

    plugin_dir: str = opt(
        "", help="Folder with one subfolder per plugin, each with a pattern.py.", metavar="DIR", executes=True
    )


@dataclass(frozen=True)
class ChoiceSection:
    """Choosing plugins."""

    include: tuple[str, ...] = opt((), help="Look for these plugins only.", metavar="NAME")
    exclude: tuple[str, ...] = opt((), help="Look for all plugins except these.", metavar="NAME")


@dataclass(frozen=True)
class ConfigSection:
    """Options that choose the operators to replace."""

    config: str = opt(
        "", help="The list from `polycmp plugin match`; by default config.yaml next to MODEL.", metavar="FILE.yaml"
    )


def _list(call: Invocation) -> int:
    from polycmp_onnx.graphsurgeon import gs_from_onnx

    model = call.open_model()
    for plugin, pattern in _plugins(call).items():
        matches = _matches(pattern, gs_from_onnx(model.load("onnx")))
        echo(visible(f"{plugin}: {len(matches)}"))
    return 0


def _match(call: Invocation) -> int:
    from polycmp.files import atomic_write, to_bytes
    from polycmp_onnx.graphsurgeon import gs_from_onnx

    yaml = _yaml()
    model = call.open_model()
    target = call.params["output"] or str(Path(model.path).parent / CONFIG)
    documents = []
    for plugin, pattern in _plugins(call).items():
        instances = _matches(pattern, gs_from_onnx(model.load("onnx")))
        echo(visible(f"{plugin}: {len(instances)}"))
        if instances:
            metadata = _called(pattern, "get_plugin_metadata")
            documents.append({"name": metadata["name"], "op": metadata["op"], "instances": instances})
    with atomic_write(target) as file:
        file.write(to_bytes(yaml.safe_dump_all(documents, default_flow_style=False, sort_keys=False)))
    echo(visible(f"wrote {target}"))
    return 0


def _replace(call: Invocation) -> int:
    from polycmp.errors import DataError
    from polycmp_onnx.graphsurgeon import gs_from_onnx
    from polycmp_onnx.save import save_onnx

    yaml = _yaml()
    model = call.open_model()
    path = call.section(ConfigSection).config or str(Path(model.path).parent / CONFIG)
    target = call.params["output"] or str(Path(model.path).parent / "replaced.onnx")
    patterns = _plugins(call)
    graph = gs_from_onnx(model.load("onnx"))
    tensors = graph.tensors()
    for plugin in _documents(path, yaml):
        name, op, instances = plugin["name"], plugin["op"], plugin["instances"]
        if name not in patterns:
            raise DataError(
                f"there is no plugin {name!r} in {call.section(PluginsSection).plugin_dir}", whose=path,
                why=f"there are {', '.join(patterns) or 'none'}",
            )  # fmt: skip
        done = sum(_replaced(patterns[name], graph, tensors, op, instance, path) for instance in instances)
        echo(visible(f"{name}: replaced {done} of {len(instances)}"))
    save_onnx(graph, target)
    echo(visible(f"wrote {target}"))
    return 0


def _plugins(call: Invocation) -> dict[str, Path]:
    """Return the pattern of each plugin that was asked for.

    Raises:
        UsageError: There is no folder of plugins, or none in it.
    """
    from polycmp.errors import UsageError, did_you_mean

    folder = call.section(PluginsSection).plugin_dir
    if not folder:
        raise UsageError("it is not known where the plugins are", hint="--plugin-dir DIR, with DIR/NAME/pattern.py")
    folders = {path.parent.name: path for path in sorted(Path(folder).glob(f"*/{PATTERN}"))}
    if not folders:
        raise UsageError(f"{folder} holds no plugin", why=f"there is no {folder}/NAME/{PATTERN}", hint=f"ls {folder}")
    section = call.section(ChoiceSection) if "include" in _fields(call) else ChoiceSection()
    if section.include and section.exclude:
        raise UsageError("--include and --exclude exclude each other", hint="give one of them")
    for name in (*section.include, *section.exclude):
        if name not in folders:
            raise UsageError(f"{folder} holds no plugin {name!r}", why=did_you_mean(name, folders))
    names = section.include or [name for name in folders if name not in section.exclude]
    return {name: folders[name] for name in folders if name in names}


def _fields(call: Invocation) -> set[str]:
    return {key.field for key in call.table.targets}


def _called(pattern: Path, name: str, *arguments: Any) -> Any:
    """Call a function of a pattern and return its result.

    Raises:
        DataError: The file or the function is missing, or fails.
    """
    from polycmp.errors import DataError, OthersCode
    from polycmp.loader import load_script

    function = load_script(str(pattern), name)
    with OthersCode(DataError, f"{name} failed", whose=str(pattern)):
        return function(*arguments)


def _matches(pattern: Path, graph: Any) -> list[dict[str, Any]]:
    return [dict(item) for item in _called(pattern, "get_matching_subgraphs", graph) or ()]


def _documents(path: str, yaml: Any) -> list[Mapping[str, Any]]:
    """Read a file that `polycmp plugin match` wrote.

    Raises:
        FileError: It cannot be read, or is something else.
    """
    from polycmp.errors import FileError, describe_exception

    try:
        documents = list(yaml.safe_load_all(Path(path).read_text(encoding="utf-8")))
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        why = describe_exception(error)
        raise FileError(f"cannot read {path}", why=why, hint="polycmp plugin match MODEL writes it") from error
    if not all(isinstance(item, dict) and {"name", "op", "instances"} <= set(item) for item in documents):
        raise FileError(f"{path} does not say what to replace", why="each part has name, op and instances")
    return documents


def _replaced(
    pattern: Path, graph: Any, tensors: Mapping[str, Any], op: str, instance: Mapping[str, Any], path: str
) -> bool:
    """Put a plugin in place of a part of a graph; return whether that was done.

    Raises:
        DataError: The graph has no such tensor, or the plugin's own function fails.
    """
    from polycmp.errors import DataError, OthersCode
    from polycmp.loader import load_script

    unknown = [name for name in (*instance["inputs"], *instance["outputs"]) if name not in tensors]
    if unknown:
        raise DataError(f"the model has no tensor {unknown[0]!r}", whose=path, hint="polycmp plugin match MODEL")
    inputs, outputs = ([tensors[name] for name in instance[side]] for side in ("inputs", "outputs"))
    attributes = instance.get("attributes") or {}
    try:
        replace = load_script(str(pattern), "replace_with_plugin")
    except DataError as error:
        if "replace_with_plugin" in pattern.read_text(encoding="utf-8"):
            raise DataError(error.what, whose=error.whose, why=error.why, hint=error.hint) from error
        replace = None
    if replace is None:
        for tensor in outputs:
            tensor.inputs.clear()
        graph.layer(op=op, inputs=inputs, outputs=outputs, attrs=attributes)
        graph.cleanup().toposort()
        return True
    with OthersCode(DataError, "replace_with_plugin failed", whose=str(pattern)):
        return bool(
            replace(graph=graph, input_tensors=inputs, output_tensors=outputs, attrs=instance.get("attributes"), op=op)
        )


def _yaml() -> Any:
    """Return PyYAML.

    Raises:
        PluginError: It is not installed.
    """
    from polycmp.errors import PluginError

    try:
        import yaml
    except ImportError as error:
        raise PluginError(
            f"{CONFIG} needs PyYAML, which is not installed", hint="pip install 'polycmp-onnx[plugins]'"
        ) from error
    return yaml


def _command(name: str, run: Any, options: tuple[type, ...], output: str, text: str, example: str) -> BackendCommand:
    params: list[click.Parameter] = [model_argument(), *verbosity_params()]
    params += [output_option(output, required=False)] if output else []
    return BackendCommand(
        name,
        run,
        options=("model", "data", "log", PluginsSection, *options),
        plugins=("loader", "data_loader"),
        params=params,
        help=text + examples(example),
    )


list_command = _command(
    "list",
    _list,
    (ChoiceSection,),
    "",
    "Count the parts of MODEL that match a pattern of the TensorRT plugins in a folder.",
    "polycmp plugin list model.onnx --plugin-dir plugins",
)
match_command = _command(
    "match",
    _match,
    (ChoiceSection,),
    "Where to write the list; by default config.yaml next to MODEL.",
    "Write a list of the parts of MODEL that the TensorRT plugins in a folder can replace.",
    "polycmp plugin match model.onnx --plugin-dir plugins -o config.yaml",
)
replace_command = _command(
    "replace",
    _replace,
    (ConfigSection,),
    "Where to write the model; by default replaced.onnx next to MODEL.",
    "Replace the parts of MODEL that `polycmp plugin match` has listed with TensorRT plugins.",
    "polycmp plugin replace model.onnx --plugin-dir plugins --config config.yaml -o replaced.onnx",
)
