"""Files that no runtime loads: the command that makes one of float16 anew from its original, or looks for the fault."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from polycmp.errors import ModelError
from polycmp.spec import RunObserver

if TYPE_CHECKING:
    from polycmp.results import BackendResult, Outcome
    from polycmp.runs import Resolved


class UnloadableFiles(RunObserver):
    """Names the command for runs that could not load their file.

    A converter's float16 file often has float16 weights beside tensors that stayed float32, which every runtime
    refuses, or dies of.

    Args:
        resolved: The run.
        files: The ONNX files that take part.
    """

    def __init__(self, resolved: Resolved, files: Collection[str]) -> None:
        self._resolved, self._files = resolved, files

    def finish(self, outcome: Outcome) -> None:
        """Give runs a hint, unless they have one, or another run could load the file."""
        paths = {item.label: item.model or self._resolved.plan.model for item in self._resolved.plan.backends}
        loaded = {paths.get(item.label) for item in outcome.backends if item.iterations}
        failed = [item for item in outcome.failed_backends if self._is_unloadable(item, paths, loaded)]
        for item in failed:
            path = paths[item.label]
            item.hint = self._from_original(path, [*filter(None, dict.fromkeys(paths.values()))])
            if not item.hint and not item.version:  # which is known once a file is loaded
                item.hint = f"polycmp check lint {shlex.quote(path)}"

    def _is_unloadable(self, item: BackendResult, paths: Mapping[str, str], loaded: set[str | None]) -> bool:
        path = paths.get(item.label)
        return path in self._files and path not in loaded and not item.hint

    def _from_original(self, path: str, others: list[str]) -> str:
        """Return how to make a file anew; empty where it has no float16 weights, or its original is not known."""
        halves = self._weights(path)
        for other in others if "FLOAT16" in halves.values() else ():
            floats = self._weights(other) if other != path else {}
            shared = Counter((floats[name], kind) for name, kind in halves.items() if name in floats)
            if shared["FLOAT", "FLOAT16"]:
                words = shlex.join(["polycmp", "convert", other, "--fp-to-fp16", "-o", str(_beside(path))])
                return f"{words} writes float16 from the original and tries whether a runtime loads it"
        return ""

    def _weights(self, path: str) -> dict[str, str]:
        """Return the types of a file's weights by name; none where it is no ONNX file that can be read."""
        from onnx import TensorProto

        from polycmp_onnx.load import structure_from_path

        with suppress(ModelError):
            model = structure_from_path(path)
            return {item.name: TensorProto.DataType.Name(item.data_type) for item in model.graph.initializer}
        return {}


def hint_at_file(resolved: Resolved) -> RunObserver | None:
    """Return the observer; None where no ONNX file takes part."""
    suffixes = resolved.registry.find_loader("onnx").spec.suffixes
    files = frozenset(path for path in resolved.models if Path(path).suffix.lower() in suffixes)
    return UnloadableFiles(resolved, files) if files else None


def _beside(path: str) -> Path:
    """Return the name of a new file beside another."""
    file = Path(path)
    names = (file.with_name(f"{file.stem}_fp16{f'_{number}' if number else ''}{file.suffix}") for number in range(100))
    return next((name for name in names if not name.exists()), file)
