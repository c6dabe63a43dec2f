"""Which file of a dump holds which tensor of a model: as a map says, by name, by spelling, by size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import filter as matching

from polycmp.errors import FileError, UsageError, did_you_mean
from polycmp.graph import ModelGraph
from polycmp.sentences import counted, listed
from polycmp.tensors import TensorEntry
from polycmp_dump.dump_files import DumpFile, DumpFolder, FilePattern
from polycmp_dump.dump_map import DumpMap, TensorRule
from polycmp_dump.names import operator_outputs, pair_with_model
from polycmp_dump.reading import RecordedTensor

#: Names that a message lists, and pairs.
SHOWN, _SHOWN_PAIRS = 4, 2


class DumpPairing:
    """The pairs of a dump's files and a model's tensors.

    Args:
        dump_map: What is known of the files.
        folder: The files.
        graph: The model.
        computed: The tensors that its operators make.
        path: The model's file, for messages.

    Attributes:
        files: The files of the dump, but for those that the map gives to single tensors and no pattern matches.
        notes: Remarks on what was not certain.
    """

    def __init__(
        self, dump_map: DumpMap, folder: DumpFolder, graph: ModelGraph, computed: Sequence[str], path: str
    ) -> None:
        self._map, self._folder, self._graph, self._path = dump_map, folder, graph, path
        self._known = list(dict.fromkeys([*graph.inputs, *computed]))
        self.files = list(folder.find([FilePattern(text, dump_map.path) for text in dump_map.files]))
        self.notes: list[str] = []

    def tensors(self) -> Mapping[str, RecordedTensor]:
        """The tensors of the model that the dump holds, by their names in the model.

        Raises:
            UsageError: The map names a tensor that the model does not have, or two files hold one tensor.
            FileError: No file belongs to the model.
        """
        known = self._known
        self._check_rules(known)
        claimed: dict[str, list[DumpFile]] = {}
        for rule in self._map.rules:
            if rule.file is not None:
                claimed[rule.name] = self._files_of(rule)
        taken = {file.path for files in claimed.values() for file in files}
        found = [file for file in self.files if file.path not in taken]
        pairs, given = self._pair(found, known), set(claimed)
        for file in found:
            if file.name in pairs and pairs[file.name] not in given:
                claimed.setdefault(pairs[file.name], []).append(file)
        unused = list(dict.fromkeys(file.name for file in found if file.name not in pairs))
        if not claimed:
            raise FileError(
                f"no file in {self._map.folder} belongs to a tensor of {self._path}",
                why=f"files: {some(list(self._folder.paths))}; tensors: {some(known)}",
                hint=f"polycmp template dump {self._path} {self._map.folder} -b onnxrt -o dump.toml",
            )
        if unused:
            self.notes.append(f"{counted(len(unused), 'tensor')} of the dump not known in the model: {some(unused)}")
        tensors = {name: self._recorded(name, claimed[name]) for name in known if name in claimed}
        return self._complete(tensors)

    def _check_rules(self, known: Sequence[str]) -> None:
        for rule in self._map.rules:
            if rule.name not in known and (rule.file is not None or not matching(known, rule.name)):
                raise UsageError(
                    f"no tensor of {self._path} is called {rule.name!r}",
                    whose=f"{self._map.path}, line {rule.line}",
                    why=did_you_mean(rule.name, known),
                    hint=f"polycmp inspect model {self._path} --show layers",
                )

    def _files_of(self, rule: TensorRule) -> list[DumpFile]:
        assert rule.file is not None
        files = self._folder.find_named(FilePattern(rule.file, self._map.path), rule.name)
        if not files:
            raise FileError(
                f"no file {rule.file} in {self._map.folder}",
                whose=f"{self._map.path}, line {rule.line}",
                why=did_you_mean(rule.file, self._folder.paths),
                hint=f"ls {self._map.folder}",
            )
        return files

    def _pair(self, found: Sequence[DumpFile], known: Sequence[str]) -> dict[str, str]:
        """Return the model's tensors by the names of a dump, and note what was not the very name."""
        names = dict.fromkeys(file.name for file in found if not file.is_node)
        pairs = pair_with_model(names, known)
        operators = {
            name: tensor
            for name, tensor in operator_outputs(self._graph.nodes).items()
            if tensor in known and tensor not in pairs.values()
        }
        left = dict.fromkeys(file.name for file in found if file.name not in pairs)
        by_operator = pair_with_model(left, operators)
        self._tell("by the spelling of their names", {a: b for a, b in pairs.items() if a != b})
        self._tell("by the names of their operators", by_operator)
        pairs.update({name: operators[operator] for name, operator in by_operator.items()})
        inputs = [name for name in self._graph.inputs if name in known and name not in pairs.values()]
        by_size = dict(self._fitting(found, inputs, pairs))
        self._tell("as the only ones of their size", by_size)
        return {**pairs, **by_size}

    def _fitting(
        self, found: Sequence[DumpFile], inputs: Sequence[str], pairs: Mapping[str, str]
    ) -> Iterator[tuple[str, str]]:
        """Yield the tensors of a dump which alone have the size of an input, with the input."""
        first = {file.name: file for file in reversed(found) if file.name not in pairs}
        sizes = {name: self._size(file) for name, file in first.items()} if inputs else {}
        wanted = {name: _elements(self._graph.inputs[name]) for name in inputs}
        for name, size in wanted.items():
            fitting = [file_name for file_name, count in sizes.items() if count == size]
            if size and len(fitting) == 1 and list(wanted.values()).count(size) == 1:
                yield fitting[0], name

    def _size(self, file: DumpFile) -> int:
        """Return the number of elements in a file, of float32 where it does not say its type."""
        try:
            return int(self._folder.read(file, "float32", "little").size)
        except FileError:  # of another type; it tells nothing
            return 0

    def _tell(self, how: str, pairs: Mapping[str, str]) -> None:
        if pairs:
            shown = listed([f"{one} = {two}" for one, two in pairs.items()], _SHOWN_PAIRS)
            self.notes.append(f"{counted(len(pairs), 'tensor')} of the dump paired {how}: {shown}")

    def _recorded(self, name: str, files: Sequence[DumpFile]) -> RecordedTensor:
        by_iteration: dict[int | None, DumpFile] = {}
        for file in files:
            first = by_iteration.setdefault(file.iteration, file)
            if first is not file:
                raise UsageError(
                    f"two files hold {name!r}: {first} and {file}",
                    whose=self._map.path,
                    hint=f'say which: [tensors."{name}"] file = "…"'
                    + ("" if file.iteration is not None else ", with {iteration} where files differ by a number"),
                )
        return RecordedTensor(name, self._map.rule_for(name), by_iteration)

    def _complete(self, tensors: Mapping[str, RecordedTensor]) -> dict[str, RecordedTensor]:
        """Return the tensors that every iteration has."""
        iterations = iterations_of(tensors.values())
        partial = [
            name for name, tensor in tensors.items() if any(tensor.file_of(index) is None for index in iterations)
        ]
        if partial:
            missing = next(index for index in iterations if tensors[partial[0]].file_of(index) is None)
            self.notes.append(
                f"left out, as not every iteration has them: {some(partial)} (iteration {missing} lacks {partial[0]})"
            )
        return {name: tensor for name, tensor in tensors.items() if name not in partial}


def iterations_of(tensors: Iterable[RecordedTensor]) -> list[int]:
    """Return the numbers of the iterations that tensors have, in their order."""
    numbers = {index for tensor in tensors for index in tensor.files if index is not None}
    return sorted(numbers) or [0]


def _elements(entry: TensorEntry) -> int:
    """Return the number of elements of a tensor; 0 where dimensions are open."""
    return 0 if entry.shape is None or entry.is_dynamic() else math.prod(map(int, entry.shape))


def some(names: Sequence[str]) -> str:
    """Return a few of some names as text."""
    return listed(names, SHOWN) or "none"
