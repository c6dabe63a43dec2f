"""Float16 files that no runtime loads: where one lies beside its original, the command that makes it anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from polycmp.errors import ModelError
from polycmp.spec import RunObserver

if TYPE_CHECKING:
    from polycmp.results import BackendResult, Outcome
    from polycmp.runs import Resolved


class HalfFiles(RunObserver):
    """Names the command for runs that failed on what looks like a converter's float16 file.

    Such a file often has float16 weights beside tensors that stayed float32, which every runtime refuses, or dies of.
    """

    def __init__(self, resolved: Resolved) -> None:
        self._resolved = resolved

    def finish(self, outcome: Outcome) -> None:
        """Give runs on such a file a hint, unless they have one, or another run could load the file."""
        paths = {item.label: item.model or self._resolved.plan.model for item in self._resolved.plan.backends}
        loaded = {paths.get(item.label) for item in outcome.backends if item.iterations}
        failed = [item for item in outcome.failed_backends if self._is_unloadable(item, paths, loaded)]
        for item in failed:
            item.hint = self._hint(paths[item.label], [*filter(None, dict.fromkeys(paths.values()))])

    def _is_unloadable(self, item: BackendResult, paths: Mapping[str, str], loaded: set[str | None]) -> bool:
        path = paths.get(item.label)
        return bool(path) and path not in loaded and not item.hint

    def _hint(self, path: str, others: list[str]) -> str:
        """Return the hint for a file; empty where it has no float16 weights, or its original is not known."""
        halves = self._weights(path)
        if "FLOAT16" not in halves.values():
            return ""
        for other in others:
            floats = self._weights(other) if other != path else {}
            shared = Counter((floats[name], kind) for name, kind in halves.items() if name in floats)
            if shared["FLOAT", "FLOAT16"]:
                return (
                    f"polycmp convert {other} --fp-to-fp16 -o {_beside(path)} writes float16 from the original and "
                    "tries whether a runtime loads it"
                )
        return ""

    def _weights(self, path: str) -> dict[str, str]:
        """Return the types of a file's weights by name; none where it is no ONNX file that can be read."""
        from onnx import TensorProto

        from polycmp_onnx.load import structure_from_path

        with suppress(ModelError):
            model = structure_from_path(path)
            return {item.name: TensorProto.DataType.Name(item.data_type) for item in model.graph.initializer}
        return {}


def hint_at_original(resolved: Resolved) -> RunObserver | None:
    """Return the observer; None where no second ONNX file takes part."""
    return HalfFiles(resolved) if len({*_onnx_files(resolved)}) > 1 else None


def _onnx_files(resolved: Resolved) -> Iterator[str]:
    suffixes = resolved.registry.find_loader("onnx").spec.suffixes
    yield from (path for path in resolved.models if Path(path).suffix.lower() in suffixes)


def _beside(path: str) -> Path:
    """Return the name of a new file beside another."""
    file = Path(path)
    names = (file.with_name(f"{file.stem}_fp16{number or ''}{file.suffix}") for number in range(100))
    return next((name for name in names if not name.exists()), file)
