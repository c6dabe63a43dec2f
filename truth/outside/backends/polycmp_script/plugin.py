"""What the backend is called. Light: only `polycmp.spec` is imported here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from polycmp.spec import RunnerSpec, hookimpl, opt


@dataclass(frozen=True)
class ScriptOptions:
    """Options of the backend `script`."""

    interpreter: str = opt("", help="The Python that runs it.", metavar="FILE")
    script: str = opt("", help="What is run: it is given a model, inputs, and a file for its outputs.", metavar="FILE")


@hookimpl
def polycmp_runners() -> Iterable[RunnerSpec]:
    """Contribute the backend."""
    yield RunnerSpec(
        name="script",
        summary="a script of one's own in another interpreter",
        factory="polycmp_script.runner:make_runner",
        options=ScriptOptions,
        accepts=("onnx",),
        hidden=True,
    )
