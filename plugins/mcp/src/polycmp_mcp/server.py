"""The server: each tool is a command of polycmp, its answer the command's JSON report, shortened."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePath
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

import polycmp
from polycmp.errors import PolycmpError, UsageError
from polycmp_mcp.calling import Caller, NoAnswerError, text_of
from polycmp_mcp.shortening import short
from polycmp_mcp.skill import skill_text

_INSTRUCTIONS = (
    "polycmp runs a neural network on several inference backends, compares all outputs, and finds the first tensor "
    "that goes wrong. Begin with `backends`. The last backend is the reference. `exit_status`: 0 equal within "
    "tolerance, 1 different, 2 wrong usage, 3 could not compare, or comparing told nothing (verdicts blind and "
    "undecided). Which tool answers which symptom: the resource skill://polycmp."
)
_SECONDS = 600.0
_MOST_SECONDS = 24 * 3600.0

Model = Annotated[str, Field(description="Path of the model: an ONNX file, or what another backend reads.")]
Backends = Annotated[
    list[str],
    Field(
        min_length=1,
        description='What follows -b: ["onnxrt", "onnx"], with options "trt:fp16", with another file '
        '"onnxrt:model=old.onnx". The last is the reference.',
    ),
]
OldModel = Annotated[str, Field(description="A second file, the reference: each backend runs both.")]
Options = Annotated[
    list[str],
    Field(description='Further words of the command line: ["--input-shapes", "x:[1,3,224,224]", "--atol", "1e-3"].'),
]
Folder = Annotated[str, Field(description="Folder that paths are relative to; by default that of the server.")]
Seconds = Annotated[
    float, Field(gt=0, le=_MOST_SECONDS, allow_inf_nan=False, description="Seconds after which the command is ended.")
]


class Tools:
    """The tools, as functions that the protocol describes by their signatures.

    Args:
        caller: Carries out what callers ask for.
    """

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def backends(self) -> dict[str, Any]:
        """List the installed plugins: which backends there are, and what is missing or broken and why."""
        try:
            document = json.loads(await text_of(["plugins", "list", "--json"]))
        except NoAnswerError as error:
            raise ToolError(str(error)) from None
        return {"plugins": [_facts(plugin) for plugin in document["plugins"]]}

    async def run(
        self,
        model: Model,
        backends: Backends,
        reference_model: OldModel = "",
        options: Options = [],  # noqa: B006 - the protocol shows the default; nothing changes it
        folder: Folder = "",
        seconds: Seconds = _SECONDS,
    ) -> dict[str, Any]:
        """Run a model on backends and compare all outputs with those of the last one."""
        files = [model, *([reference_model] if reference_model else [])]
        return await self._answer("run", files, _specs(backends), options, folder, seconds)

    async def compare(
        self,
        new: Annotated[str, Field(description="Saved outputs: .npz, .npy, .pt, .safetensors, .json, or a folder.")],
        old: Annotated[str, Field(description="Saved outputs that are right.")],
        options: Options = [],  # noqa: B006
        folder: Folder = "",
        seconds: Seconds = _SECONDS,
    ) -> dict[str, Any]:
        """Compare two files of saved outputs."""
        return await self._answer("compare", [new, old], [], options, folder, seconds)

    async def locate(
        self,
        model: Model,
        backends: Backends,
        reference_model: OldModel = "",
        options: Options = [],  # noqa: B006
        folder: Folder = "",
        seconds: Seconds = _SECONDS,
    ) -> dict[str, Any]:
        """Find the first tensor inside a model that goes wrong, and say whether it is a fault or rounding."""
        files = [model, *([reference_model] if reference_model else [])]
        return await self._answer("locate", files, _specs(backends), options, folder, seconds)

    async def bisect(
        self,
        model: Model,
        backends: Backends,
        over: Annotated[str, Field(description='A package ("onnxruntime"), "passes" (of an optimiser) or "files".')],
        good: Annotated[str, Field(description="A release that is right; by default it is looked for.")] = "",
        bad: Annotated[str, Field(description="A release that is wrong; by default the latest.")] = "",
        options: Options = [],  # noqa: B006
        folder: Folder = "",
        seconds: Seconds = 3600.0,
    ) -> dict[str, Any]:
        """Find the first release of a package, or the optimiser pass, with which a model gives wrong results.

        Environments are made with pip or uv, which takes minutes.
        """
        ends = [word for flag, value in (("--good", good), ("--bad", bad)) if value for word in (flag, value)]
        words = [*_specs(backends), "--over", over, *ends]
        return await self._answer("bisect", [model], words, options, folder, seconds)

    async def reduce(
        self,
        model: Model,
        backends: Backends,
        output: Annotated[str, Field(description="File for the small model; by default MODEL_reduced.onnx.")] = "",
        options: Options = [],  # noqa: B006
        folder: Folder = "",
        seconds: Seconds = _SECONDS,
    ) -> dict[str, Any]:
        """Make a model smaller as long as its first backend differs from the reference, or fails on it."""
        small = output or f"{PurePath(model).stem}_reduced{PurePath(model).suffix}"
        words = [*_specs(backends), "-o", small]
        return await self._answer("debug reduce", [model], words, options, folder, seconds)

    async def _answer(
        self,
        command: str,
        files: Sequence[str],
        words: Sequence[str],
        options: Sequence[str],
        folder: str,
        seconds: float,
    ) -> dict[str, Any]:
        """Return the short report of a command.

        Raises:
            ToolError: It was refused, or ended without a report; the text says what to do.
        """
        try:
            for file in files:
                if not file.strip() or file.startswith("-"):
                    raise UsageError(f"{file!r} is no path")
            words = [*files, *words, *options]
            return dict(short(await self._caller.report_of([*command.split(), *words], folder, seconds)))
        except PolycmpError as error:
            raise ToolError("; ".join(filter(None, (error.what, error.why, error.hint)))) from None
        except NoAnswerError as error:
            raise ToolError(str(error)) from None


def make_server(caller: Caller) -> MCPServer:
    """Return the server with its tools, and the page for agents as a resource."""
    server = MCPServer("polycmp", version=polycmp.__version__, instructions=_INSTRUCTIONS, log_level="WARNING")
    tools = Tools(caller)
    for function in (tools.backends, tools.run, tools.compare, tools.locate, tools.bisect, tools.reduce):
        server.add_tool(function)
    server.resource(
        "skill://polycmp", name="skill", description="Which command answers which symptom.", mime_type="text/markdown"
    )(skill_text)
    return server


def _facts(plugin: dict[str, Any]) -> dict[str, Any]:
    """Return the facts on a plugin that an agent needs: its state, and the backends and commands that it brings."""
    by_kind = {kind: [item for item in plugin["provides"] if item["kind"] == kind] for kind in ("runner", "command")}
    backends = [{key: item[key] for key in ("name", "summary", "missing") if item[key]} for item in by_kind["runner"]]
    facts = {key: plugin[key] for key in ("name", "package", "version", "state", "reason") if plugin[key]}
    return {**facts, "backends": backends, "commands": [item["name"] for item in by_kind["command"]]}


def _specs(backends: Sequence[str]) -> list[str]:
    return [word for spec in backends for word in ("-b", spec)]
