"""Saved tensors that a check loads: each part gets only its own inputs and outputs.

A check like `polycmp run polycmp_debug.onnx … --load-inputs ALL.json --load-outputs GOLDEN.json` names files with the
tensors of the whole model. A run that gives out fewer tensors than it is compared with differs, and so would each part.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polycmp.plugins import Registry
    from polycmp_locate.reduce.parts import ModelPart

_INPUTS = ("--load-inputs", "--load-input-data")
_OUTPUTS = ("--load-outputs", "--load-results")
_Tensors = list[dict[str, Any]]


class SavedTensors:
    """The files that a `polycmp run` check loads, and a file for each of them that holds what a part needs.

    Args:
        check: The words of the check.
        registry: The plugins.

    Attributes:
        words: The words with the files for parts in place of those that the user named.
        missing: Tensors that some part gives out and no file holds.
    """

    def __init__(self, check: Sequence[str], registry: Registry) -> None:
        self.words, self._registry = list(check), registry
        self.missing: list[str] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._files: dict[str, tuple[str, Callable[[str, str], None]]] = {}
        self._inputs: dict[str, _Tensors] = {}
        self._outputs: dict[str, list[tuple[str, _Tensors, list[float | None]]]] = {}
        self._fed: dict[str, tuple[str, ...]] = {}
        if len(check) > 1 and Path(check[0]).stem == "polycmp" and check[1] == "run":
            self._exchange(_INPUTS, self._add_inputs)
            self._exchange(_OUTPUTS, self._add_outputs)

    def read(self) -> None:
        """Read the files that the user named.

        Raises:
            FileError: One cannot be read.
        """
        for part_file, (path, add) in self._files.items():
            add(path, part_file)

    def write(self, part: ModelPart, folder: Path | None = None) -> bool:
        """Write the saved inputs and outputs of a part.

        Args:
            part: The part.
            folder: Folder to write to; by default where `words` look for it.

        Returns:
            Whether each output of the part is among the saved ones.

        Raises:
            FileError: A file cannot be written.
        """
        from polycmp.results.files import InputsWriter, OutputsWriter  # few checks load anything

        for path, feeds in self._inputs.items():
            if folder is None and self._fed.get(path) == part.inputs:
                continue
            with InputsWriter(_in(folder, path), self._registry, lasting=folder is not None) as inputs:
                for feed in feeds:
                    inputs.add(_only(feed, part.inputs))
            if folder is None:
                self._fed[path] = part.inputs
        for path, runs in self._outputs.items():
            known = {name for _, iterations, _ in runs for tensors in iterations for name in tensors}
            if missing := [name for name in part.outputs if name not in known]:
                self.missing += [name for name in missing if name not in self.missing]
                return False
            with OutputsWriter(_in(folder, path), self._registry, lasting=folder is not None) as outputs:
                for label, iterations, seconds in runs:
                    for tensors, took in zip(iterations, seconds, strict=True):
                        outputs.add(label, _only(tensors, part.outputs), took)
        return True

    def words_inside(self) -> list[str]:
        """Return the words for a command that runs in the folder that `write` has written to."""
        prefix = str(self._folder.name) + os.sep if self._folder is not None else ""
        return [word.replace(prefix, "") if prefix else word for word in self.words]

    def close(self) -> None:
        """Remove the files."""
        if self._folder is not None:
            self._folder.cleanup()

    def _exchange(self, flags: tuple[str, ...], add: Callable[[str, str], None]) -> None:
        """Replace the files after a flag by files for parts."""
        behind = False
        for index, word in enumerate(self.words):
            flag, equals, value = word.partition("=")
            if flag in flags:
                behind = not equals
                if equals:
                    self.words[index] = f"{flag}={self._file(value, add)}"
            elif word.startswith("-"):
                behind = False
            elif behind and Path(word).exists():
                self.words[index] = self._file(word, add)

    def _file(self, path: str, add: Callable[[str, str], None]) -> str:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="polycmp-reduce-", ignore_cleanup_errors=True)
        part_file = str(Path(self._folder.name, f"saved{len(self._files)}.npz"))
        self._files[part_file] = path, add
        return part_file

    def _add_inputs(self, path: str, part_file: str) -> None:
        from polycmp.results.files import open_inputs

        self._inputs[part_file] = [dict(feed) for feed in open_inputs([path], self._registry)]

    def _add_outputs(self, path: str, part_file: str) -> None:
        from polycmp.results.files import open_runs

        self._outputs[part_file] = []
        for run in open_runs(path, self._registry):
            results = list(run.iterations)
            tensors = [{name: result[name] for name in result} for result in results]
            self._outputs[part_file].append((run.label, tensors, [result.runtime for result in results]))


def _in(folder: Path | None, path: str) -> str:
    return path if folder is None else str(folder / Path(path).name)


def _only(tensors: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: tensors[name] for name in names if name in tensors}
