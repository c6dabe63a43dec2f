"""The commands `template trt-network` and `template trt-config`: scripts to begin with; they need no TensorRT."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polycmp.command import BackendCommand, examples, verbosity_params
from polycmp.errors import ModelError
from polycmp.files import atomic_write, to_bytes
from polycmp.terminal import echo, visible

if TYPE_CHECKING:
    from polycmp.command import Invocation
    from polycmp_trt.options import Options

__all__ = ["trt_config", "trt_network"]

_HEAD = '''\
#!/usr/bin/env python3
"""{what}"""

# Use it with: {command}

import tensorrt as trt

{imports}
{before}

@func.extend({made})
'''
_NETWORK = '''\
def load_network({arguments}):
    """Edit the network in place, for example network.name, or add layers and mark outputs."""
    # Outputs are marked with: network.mark_output(tensor)
'''
_CONFIG = '''\
def load_config(config):
    """Edit the configuration in place."""
    # For example: config.set_flag(trt.BuilderFlag.REFIT)
'''


class _DataLoader:
    """Stands for the data loader of a script that calibrates, under the name that it has there."""

    def __init__(self) -> None:
        self.__name__ = "data_loader"

    def __call__(self, inputs: object) -> tuple[()]:
        """Return no feeds: nothing is built here."""
        return ()


def _network(call: Invocation) -> int:
    from polycmp_trt.factory import network_from_source

    call.begin()
    model, output = call.options.model, call.params["output"]
    expression = "CreateNetwork()"
    if model:
        from polycmp_onnx import OnnxFromPath

        loader: Any = network_from_source(OnnxFromPath(str(_existing(model))), _options(call))
        expression = loader.source()
    source = _head("Defines a TensorRT network.", f"polycmp run {output} --trt", expression)
    _write(output, source + _NETWORK.format(arguments="builder, network, parser" if model else "builder, network"))
    return 0


def _config(call: Invocation) -> int:
    from polycmp_trt.from_options import config_from_options

    call.begin()
    model, output = call.options.model, call.params["output"]
    shown = str(_existing(model)) if model else "MODEL"
    options = _options(call)
    # Which of these are switches of the builder depends on its release: the script is for those that have them.
    flags = tuple(name for name in ("tf32", "fp16", "bf16", "fp8", "int8") if getattr(options, name))
    loader: Any = config_from_options(options, flags, {}, _DataLoader())
    command = f"polycmp run {shown!r} --trt --trt-config-script {output}"
    _write(output, _head("Makes a TensorRT builder configuration.", command, loader.source()) + _CONFIG)
    return 0


def _options(call: Invocation) -> Options:
    from polycmp.options import make_options
    from polycmp_trt.options import Options

    options: Options = make_options(Options, call.options.of("runner", "trt"), "backend trt")
    return options


def _head(what: str, command: str, expression: str) -> str:
    """Return the beginning of a script, with the imports that an expression needs."""
    import polycmp_trt

    names = sorted(set(re.findall(r"\b[A-Z]\w+(?=\()", expression)) & set(polycmp_trt.__all__))
    imports = ["from polycmp import func"]
    if "data_loader" in expression:
        imports.append("from polycmp.comparator import DataLoader")
    if "InvokeFromScript(" in expression:
        imports.append("from polycmp.loader import InvokeFromScript")
    imports += [f"from polycmp_trt import {', '.join(names)}"] if names else []
    before = "\ndata_loader = DataLoader()  # calibration data\n" if "data_loader" in expression else ""
    return _HEAD.format(what=what, command=command, imports="\n".join(imports), before=before, made=expression)


_PARAMS = (
    click.Argument(["model"], metavar="[MODEL]", required=False),
    *verbosity_params(),
    click.Option(["-o", "--output"], required=True, metavar="FILE.py", help="File to write the script to."),
)

trt_network = BackendCommand(
    "trt-network",
    _network,
    options=("model", "data", "log"),
    plugins=("runner", "loader", "data_loader"),
    params=_PARAMS,
    help="Write a Python script that defines a TensorRT network, or edits that of MODEL."
    + examples("polycmp template trt-network model.onnx -o network.py"),
)

trt_config = BackendCommand(
    "trt-config",
    _config,
    options=("model", "data", "log"),
    plugins=("runner", "loader", "data_loader"),
    params=_PARAMS,
    help="Write a Python script that creates a TensorRT builder configuration."
    + examples("polycmp template trt-config --fp16 -o config.py"),
)


def _existing(model: str) -> Path:
    path = Path(model)
    if not path.is_file():
        raise ModelError(f"no such model file: {model}", hint=f"ls {path.parent}")
    return path


def _write(output: str, text: str) -> None:
    with atomic_write(output) as file:
        file.write(to_bytes(text))
    Path(output).chmod(Path(output).stat().st_mode | 0o111)
    echo(visible(f"wrote {output}"))
