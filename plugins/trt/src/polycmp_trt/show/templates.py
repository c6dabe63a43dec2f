"""The commands `template trt-network` and `template trt-config`: scripts to begin with; they need no TensorRT."""

from __future__ import annotations

from pathlib import Path

import click

from polycmp.command import examples
from polycmp.errors import ModelError
from polycmp.files import atomic_write, to_bytes
from polycmp.terminal import echo, visible

__all__ = ["trt_config", "trt_network"]

_HEAD = '''\
#!/usr/bin/env python3
"""{what}"""

# Use it with: {command}

import tensorrt as trt

from polycmp import func
from polycmp_trt import {loader}


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


@click.command(
    "trt-network",
    help="Write a Python script that defines a TensorRT network, or edits that of MODEL."
    + examples("polycmp template trt-network model.onnx -o network.py"),
)
@click.argument("model", metavar="[MODEL]", required=False)
@click.option("-o", "--output", required=True, metavar="FILE.py", help="File to write the script to.")
def trt_network(model: str | None, output: str) -> None:
    """Write the script, executable.

    Raises:
        ModelError: There is no such model.
        FileError: The script cannot be written.
    """
    loader = "NetworkFromOnnxPath" if model else "CreateNetwork"
    made = f"NetworkFromOnnxPath({str(_existing(model))!r})" if model else "CreateNetwork()"
    head = _HEAD.format(
        what="Defines a TensorRT network.", command=f"polycmp run {output} --trt", loader=loader, made=made
    )
    _write(output, head + _NETWORK.format(arguments="builder, network, parser" if model else "builder, network"))


@click.command(
    "trt-config",
    help="Write a Python script that makes a TensorRT builder configuration."
    + examples("polycmp template trt-config model.onnx -o config.py"),
)
@click.argument("model", metavar="[MODEL]", required=False)
@click.option("-o", "--output", required=True, metavar="FILE.py", help="File to write the script to.")
def trt_config(model: str | None, output: str) -> None:
    """Write the script, executable.

    Raises:
        ModelError: There is no such model.
        FileError: The script cannot be written.
    """
    shown = str(_existing(model)) if model else "MODEL"
    head = _HEAD.format(
        what="Makes a TensorRT builder configuration.",
        command=f"polycmp run {shown!r} --trt --trt-config-script {output}",
        loader="CreateConfig",
        made="CreateConfig()",
    )
    _write(output, head + _CONFIG)


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
