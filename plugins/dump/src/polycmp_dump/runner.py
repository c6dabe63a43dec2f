"""Runner that answers with the tensors of a dump."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polycmp.errors import BackendError
from polycmp.model import Model
from polycmp.runner import Runner
from polycmp.sentences import listed
from polycmp.tensors import TensorMetadata
from polycmp_dump.dump import Dump
from polycmp_dump.dump_map import read_map
from polycmp_dump.graph import DumpGraph, DumpPart, DumpPartLoader

if TYPE_CHECKING:
    from polycmp.loader import Loader
    from polycmp.spec import ModelHandle
    from polycmp_dump.plugin import DumpOptions


class DumpRunner(Runner):
    """Returns recorded tensors for the inputs that they were made of.

    Args:
        load: Makes the part of a dump to show.
        name: The label in reports.
    """

    outputs_stay_valid = True

    def __init__(self, load: Loader[DumpPart], name: str = "") -> None:
        super().__init__(name)
        self._load = load

    def activate_impl(self) -> None:
        """Look for the files."""
        self._part = self._load()
        missing = [name for name in self._part.outputs if name not in self._part.dump.tensors]
        if missing:
            raise BackendError(f"the dump does not hold {listed(missing, 4)}", whose=self.name)

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the inputs of the model, or of the part."""
        return self._part.inputs

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return the tensors that the program made of these."""
        dump = self._part.dump
        iteration = dump.iteration_of(feed_dict, self.name)
        return {name: dump.read(name, iteration) for name in self._part.outputs}

    def deactivate_impl(self) -> None:
        """Take over the remarks on the dump, and let go of it."""
        self.notes.extend(note for note in self._part.dump.notes if note not in self.notes)
        del self._part


def open_dump(model: ModelHandle, options: DumpOptions) -> Dump:
    """Open the dump of a model.

    Args:
        model: The model.
        options: The backend's options.

    Raises:
        FileError: The map or the folder cannot be read.
        UsageError: The map says something that has no meaning.
    """
    assert isinstance(model, Model)
    return Dump(read_map(options.folder, options.map), model)


def make_runner(model: ModelHandle, options: DumpOptions, *, name: str) -> DumpRunner:
    """Return a runner of the model's outputs, or of the part of the dump that takes the model's place."""
    assert isinstance(model, Model)
    loader = model.load(model.kind)
    if isinstance(loader, DumpPartLoader):
        return DumpRunner(loader, name)
    graph = DumpGraph(open_dump(model, options))
    return DumpRunner(graph.mark(graph.outputs), name)
