"""`polycmp debug build`: an engine built anew for each check, until one is good or bad."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from polycmp.command import examples
from polycmp.debug import CheckSection, artifact_of, repeat_with_check, repeating_command

if TYPE_CHECKING:
    from polycmp.command import Invocation
    from polycmp.model import Model
    from polycmp.plugins import Contributed, Registry
    from polycmp.spec import LoaderSpec

__all__ = ["build_command"]

ENGINE = "polycmp_debug.engine"


def _build(call: Invocation) -> int:
    model = call.open_model()
    suffixes = [suffix for item in _writers(call.registry) for suffix in item.spec.file_suffixes]
    named = artifact_of(call.params["check"], suffixes, ENGINE)
    artifact = call.section(CheckSection).iter_artifact or named
    writer = _writer(call.registry, artifact)
    call.registry.require(writer)
    return repeat_with_check(call, "debug build", artifact, lambda: _save(call.registry, model, writer, artifact))


def _save(registry: Registry, model: Model, writer: Contributed[LoaderSpec], artifact: str) -> None:
    save = registry.tools(writer).save
    assert save is not None
    with registry.explained(writer):
        save(model.load(writer.spec.kind), artifact)


def _writers(registry: Registry) -> list[Contributed[LoaderSpec]]:
    return [item for item, tools in registry.equipped(registry.loaders.values()) if tools.save is not None]


def _writer(registry: Registry, artifact: str) -> Contributed[LoaderSpec]:
    """Return the loader that writes such a file.

    Raises:
        PluginError: The package that brings it is not installed.
        UsageError: Nothing is known to write such a file.
    """
    from polycmp.errors import PluginError, UsageError
    from polycmp.plugins import explain_suffix

    suffix = Path(artifact).suffix.lower()
    loaders = [item for item in _writers(registry) if suffix in item.spec.suffixes]
    if loaders:
        return loaders[0]
    if hint := explain_suffix(suffix):
        raise PluginError(f"no installed loader builds {artifact}", hint=hint)
    raise UsageError(f"no loader builds {artifact}", hint=f"--iter-artifact FILE.engine; by default {ENGINE}")


build_command = repeating_command(
    "build",
    _build,
    options=("model", "data.input_shapes", "data.data_loader", "data.data_loader_script", "data.load_inputs"),
    plugins=("runner", "loader", "data_loader"),
    params=(click.Argument(["model"], required=False),),
    help="Rebuild an engine of MODEL for each check, and sort the files of each build into good and bad."
    + examples(
        "polycmp debug build model.onnx --fp16 --save-tactics replay.json --artifacts replay.json --until 10 \\",
        "    --check polycmp run polycmp_debug.engine --trt --load-outputs golden.json",
    ),
)
