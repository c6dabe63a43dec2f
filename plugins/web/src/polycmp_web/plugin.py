"""Contributions of this plugin, described without importing anything heavy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polycmp.spec import RunnerSpec, RunnerTools, Switch, hookimpl, opt


@dataclass(frozen=True)
class Options:
    """Options of the backend `web`."""

    package: str = opt(
        "",
        help="Folder of the onnxruntime-web to use, or of a project that has it in node_modules; by default the one "
        "that npm has installed globally.",
        metavar="FOLDER",
        executes=True,
    )
    browser: str = opt(
        "", help="Run in a page of this browser, headless, not in Node.", choices=("chromium", "firefox", "webkit")
    )
    provider: str = opt("wasm", help="Execution provider; webgpu needs a browser.", choices=("wasm", "webgpu"))
    optimization: str = opt(
        "all", help="Level of graph optimizations.", choices=("disabled", "basic", "extended", "layout", "all")
    )
    threads: int = opt(1, help="Threads that WebAssembly calculates with.", choices=range(1, 65))

    def __post_init__(self) -> None:
        if self.provider == "webgpu" and not self.browser:
            raise ValueError("Node has no WebGPU; add browser=chromium")


@hookimpl
def polycmp_runners() -> Iterator[RunnerSpec]:
    """Describe the backend `web`."""
    yield RunnerSpec(
        name="web",
        summary="ONNX Runtime Web: WebAssembly in Node or a browser, WebGPU",
        factory="polycmp_web.runner:make_runner",
        options=Options,
        accepts=("onnx",),
        needs=("onnx",),
        tools="polycmp_web.plugin:WebTools",
    )


class WebTools(RunnerTools):
    """A runtime in a process of its own, which takes some tenths of a second to start."""

    threads = "threads"
    concurrent = True
    compiles = True
    exclusive = ("browser", "threads")
    switches = (Switch("optimization", values=("layout", "extended", "basic", "disabled")),)
