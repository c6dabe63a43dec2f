"""Inference as a CUDA graph: recorded once for given shapes and addresses, launched in one call from then on."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from polycmp.errors import BackendError
from polycmp_trt.run.cuda import cuda_library
from polycmp_trt.run.runtime import noted_errors

if TYPE_CHECKING:
    import tensorrt as trt

    from polycmp_trt.run.buffers import Binding

#: Combinations of addresses with a graph of their own; with more, all are forgotten.
MOST_GRAPHS = 16
#: `CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`: what other threads do meanwhile does not matter.
_THIS_THREAD = 1
_HINT = "run it without a graph: leave trt:cuda_graph out"


class GraphLauncher:
    """Runs an execution context, from the second run with the same shapes and addresses on as a CUDA graph.

    The first run with new shapes goes without a graph, as TensorRT asks for. An address that never comes again costs no
    recording.

    Args:
        context: TensorRT's execution context.
        bindings: All tensors, whose last addresses tell which graph is the right one.
        whose: The runner, for errors.
    """

    def __init__(self, context: trt.IExecutionContext, bindings: Sequence[Binding], whose: str) -> None:
        self._bindings = bindings
        self._run = context.execute_async_v3
        self._whose = whose
        self._api = _Graphs()
        self._graphs: dict[tuple[int, ...], int | None] = {}
        self._current = 0

    def launch(self, stream: int) -> bool:
        """Start the inference; return whether TensorRT takes it.

        Args:
            stream: The stream's handle.

        Raises:
            BackendError: It cannot be recorded, or CUDA refuses the graph.
        """
        if self._current:
            status = self._api.launch(self._current, stream)
            return not status or self._refused("cuGraphLaunch", status)
        key = tuple(binding.last_address for binding in self._bindings)
        if key not in self._graphs:
            if len(self._graphs) >= MOST_GRAPHS:
                self.forget()
            self._graphs[key] = None
            return bool(self._run(stream))
        self._current = self._graphs[key] or self._record(stream)
        self._graphs[key] = self._current
        return self.launch(stream)

    def moved(self) -> None:
        """Look for another graph: an address has changed."""
        self._current = 0

    def renew(self, dynamic: Sequence[str]) -> None:
        """Begin anew with other shapes.

        Args:
            dynamic: Outputs whose shapes are known only after a run.

        Raises:
            BackendError: There is such an output.
        """
        self.forget()
        if dynamic:
            why = f"the shape of output {dynamic[0]!r} depends on the data"
            raise BackendError("cannot run as a CUDA graph", whose=self._whose, why=why, hint=_HINT)

    def forget(self) -> None:
        """Destroy all graphs."""
        for graph in self._graphs.values():
            if graph:
                self._api.destroy(graph)
        self._graphs.clear()
        self._current = 0

    def _record(self, stream: int) -> int:
        """Return a graph of one inference, which does not run while it is recorded."""
        with noted_errors() as notes:
            status = self._api.begin(stream, _THIS_THREAD)
            if status:
                self._refused("cuStreamBeginCapture", status)
            done = bool(self._run(stream))
            graph, status = self._api.end(stream)
        if not done or status:
            reason = notes.why(f"CUDA error {status}" if status else "it gave no reason")
            raise BackendError(
                "TensorRT cannot run this engine as a CUDA graph", whose=self._whose, why=reason, hint=_HINT
            )
        executable, status = self._api.instantiate(graph)
        if status:
            self._refused("cuGraphInstantiate", status)
        return executable

    def _refused(self, call: str, status: int) -> NoReturn:
        self._current = 0
        raise BackendError(
            "CUDA refuses the graph", whose=self._whose, why=f"{call} failed: CUDA error {status}", hint=_HINT
        )


def launcher(
    context: trt.IExecutionContext, is_own: bool, listener: Any, bindings: Sequence[Binding], whose: str
) -> GraphLauncher:
    """Create the launcher that runs a context as a CUDA graph.

    Args:
        context: The execution context.
        is_own: Whether nothing else changes it.
        listener: Listener for debug tensors; None if there are none.
        bindings: All tensors.
        whose: The runner, for errors.

    Raises:
        BackendError: It cannot run as a graph.
    """
    if not is_own:
        raise BackendError(
            "cannot run as a CUDA graph", whose=whose, why="its context is another's", hint="give the runner an engine"
        )
    if listener is not None:
        refuse_debugging(whose)
    return GraphLauncher(context, bindings, whose)


def refuse_debugging(whose: str) -> NoReturn:
    """Raise the error about debug tensors.

    Raises:
        BackendError: Always.
    """
    raise BackendError(
        "cannot run as a CUDA graph", whose=whose, why="debug tensors are handed out while it runs", hint=_HINT
    )


class _Graphs:
    """The calls of CUDA's driver about graphs, which neither pycuda nor `DriverApi` offers."""

    def __init__(self) -> None:
        library = cuda_library()
        pointer = ctypes.c_void_p
        out = ctypes.POINTER(ctypes.c_void_p)
        self.launch: Callable[[int, int], int] = _function(library, "cuGraphLaunch", pointer, pointer)
        self.begin: Callable[[int, int], int] = _function(library, "cuStreamBeginCapture_v2", pointer, ctypes.c_int)
        self._end = _function(library, "cuStreamEndCapture", pointer, out)
        self._instantiate = _function(library, "cuGraphInstantiateWithFlags", out, pointer, ctypes.c_ulonglong)
        self._destroy_graph = _function(library, "cuGraphDestroy", pointer)
        self.destroy: Callable[[int], int] = _function(library, "cuGraphExecDestroy", pointer)

    def end(self, stream: int) -> tuple[int, int]:
        """Return the graph that was recorded, and the status."""
        graph = ctypes.c_void_p()
        status = int(self._end(stream, ctypes.byref(graph)))
        return graph.value or 0, status

    def instantiate(self, graph: int) -> tuple[int, int]:
        """Return the graph in the form that can be launched, and the status; the other form is given back."""
        executable = ctypes.c_void_p()
        status = int(self._instantiate(ctypes.byref(executable), graph, 0))
        self._destroy_graph(graph)
        return executable.value or 0, status


def _function(library: ctypes.CDLL, name: str, *arguments: Any) -> Any:
    function = getattr(library, name, None)
    if function is None:
        raise BackendError(
            "this CUDA driver has no graphs", whose="trt", why=f"it has no {name}", hint="install a driver from 11.4 on"
        )
    function.argtypes, function.restype = arguments, ctypes.c_int
    return function
