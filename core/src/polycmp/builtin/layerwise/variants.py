"""A backend with one of its options changed, and the model as a backend rewrites it."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from polycmp.errors import PolycmpError
from polycmp.graph import GraphNode, ModelGraph
from polycmp.messages import only_errors
from polycmp.model import Model
from polycmp.plan import spec_texts
from polycmp.runs import ResolvedBackend
from polycmp.spec import Switch

#: A run of a backend through a model.
Run = TypeVar("Run")
#: What a shell would take away from a word; brackets stay, in which lists are easier to read.
_FOR_SHELLS = re.compile(r"[\s'\"`$\\;&|<>()]")
#: Models with more weights than this, in bytes, are not written a second time to see how the backend rewrote them.
_LARGEST = 1 << 30


class Switches:
    """The optimisations of a backend that can be switched off, and the same backend with some of them off.

    Args:
        backend: The backend.
        graph: Graph of its model; None where no loader shows it.
    """

    def __init__(self, backend: ResolvedBackend, graph: ModelGraph | None) -> None:
        self._backend = backend
        self._weights = None if graph is None else sum(graph.weights.values())

    @property
    def switches(self) -> tuple[Switch, ...]:
        """The backend's switches for its own optimisations, the least drastic first."""
        return self._backend.tools.switches

    def takes_several(self, switch: Switch) -> bool:
        """Return whether a switch takes several values at a time."""
        is_tuple = isinstance(getattr(self._backend.plan.options, switch.option), tuple)
        return is_tuple and not any(isinstance(value, tuple) for value in switch.values)

    def values(self, switch: Switch) -> tuple[Any, ...]:
        """Return the values of a switch that leave out more than the backend was told to."""
        now = getattr(self._backend.plan.options, switch.option)
        try:
            values = self._backend.switch_values(switch)
        except PolycmpError:  # a plugin that is broken here, or a model that it cannot tell anything of
            return ()
        if self.takes_several(switch):
            return tuple(value for value in values if value not in now)
        return values[values.index(now) + 1 :] if now in values else values

    def set_to(self, switch: Switch, value: Any) -> ResolvedBackend | None:
        """Return the backend with a switch turned; None if it does not take the value.

        Args:
            switch: The switch.
            value: The value, or a tuple of values to add to those that it has.
        """
        if self.takes_several(switch):
            value = (*getattr(self._backend.plan.options, switch.option), *value)
        return self._backend.with_option(switch.option, value)

    def words(self, switch: Switch, value: Any) -> str:
        """Return the `-b` value of the backend with a switch set; empty if no text says that."""
        backend, plan = self.set_to(switch, value), self._backend.plan
        if backend is None:
            return ""
        try:
            was, text = spec_texts([plan])[0], spec_texts([backend.plan])[0]
        except PolycmpError:
            return ""
        was_called = was != plan.label  # else the label is what was typed, which is no longer that
        bare = text if was_called else text.rpartition("name=")[0].rstrip(",:") or text
        return f"-b {shlex.quote(bare) if _FOR_SHELLS.search(bare) else bare}"

    def rewritten(self, switch: Switch | None = None, value: Any = None) -> Sequence[GraphNode] | None:
        """Return the model's operators as the backend has rewritten them; None if it does not tell, or cannot make it.

        Args:
            switch: A switch to turn; None for none.
            value: Value of the switch, as for `set_to`.
        """
        option = self._backend.tools.rewritten
        backend = self._backend if switch is None else self.set_to(switch, value)
        if not option or backend is None or self._weights is None or self._weights > _LARGEST:
            return None
        with tempfile.TemporaryDirectory(prefix="polycmp-rewritten-") as folder:
            path = Path(folder, f"model{Path(backend.model.path).suffix}")
            writing = backend.with_option(option, str(path))
            return None if writing is None else _written(writing, path)


class Variants(Switches, Generic[Run]):
    """Runs of a backend through a model, and of the same backend with other options.

    Args:
        backend: The backend.
        graph: The backend's model under the model's own names.
        make: Makes a run of it with other options.
        base: Makes one under the model's own names, where `make` does not.
    """

    def __init__(
        self,
        backend: ResolvedBackend,
        graph: ModelGraph,
        make: Callable[[ResolvedBackend], Run],
        base: Callable[[ResolvedBackend], Run] | None = None,
    ) -> None:
        super().__init__(backend, graph)
        self.graph = graph
        self._make, self._base = make, base or make

    def through(self, change: Callable[[Run], Run]) -> Variants[Run]:
        """Return the variants of a run that is derived from this backend's.

        Args:
            change: Makes it.
        """
        return Variants(self._backend, self.graph, lambda backend: change(self._make(backend)), self._base)

    def own(self) -> Run:
        """Return a run of the backend as it is, under the model's own names, which records failures for itself."""
        return self._base(self._backend)

    def turned(self, switch: Switch, value: Any) -> Run | None:
        """Return a run of the backend with a switch turned; None if it does not take the value.

        Args:
            switch: The switch.
            value: The value, as for `set_to`.
        """
        backend = self.set_to(switch, value)
        return None if backend is None else self._make(backend)


def _written(backend: ResolvedBackend, path: Path) -> Sequence[GraphNode] | None:
    """Return the operators of the model that a backend writes when it is activated; None if it writes none."""
    live = backend.make_run()
    with only_errors():
        live.activate()
        live.deactivate()
        if not path.is_file():
            return None
        try:
            graph = Model(str(path), backend.model.registry).graph()
            return None if graph is None else tuple(graph.nodes)
        except PolycmpError:  # operators of the backend's own may be more than a loader takes
            return None
