"""The runner: a TensorRT engine, its buffers on both sides, and one inference after another."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from polycmp.errors import BackendError, DataError
from polycmp.loader import resolve
from polycmp.runner import Runner
from polycmp.tensors import Feed, TensorEntry, TensorMetadata
from polycmp_trt.features import import_tensorrt
from polycmp_trt.run.allocator import listen, output_allocator_class
from polycmp_trt.run.buffers import Binding, read_bindings
from polycmp_trt.run.context import choose_profile, create_context, reserve_activations, set_weight_budget
from polycmp_trt.run.cuda import DeviceBuffer, current, driver, errors_as, primary_context
from polycmp_trt.run.cuda_graph import GraphLauncher, launcher, refuse_debugging
from polycmp_trt.run.fast_path import DevicePath, FastPath, Refused, fast_path
from polycmp_trt.run.feeding import check_inputs, check_shapes, profile_metadata, take_in
from polycmp_trt.run.lane import Lane
from polycmp_trt.run.runtime import ErrorNotes, last_errors, noted_errors
from polycmp_trt.run.views import DeviceView

if TYPE_CHECKING:
    import tensorrt as trt

    from polycmp_trt.types import Array, EngineSource


class TrtRunner(Runner):
    """Runs a TensorRT engine on a CUDA device, on a stream of its own.

    Inputs may be NumPy arrays, torch tensors, or anything with `__dlpack__` or `__cuda_array_interface__`; what is on
    the device already is read there. Host arrays go through pinned memory that is kept from call to call; an array
    that is pinned itself (`pinned_empty`, torch's `pin_memory`) goes without that copy. A feed with the shapes of the
    last one costs no set-up at all.

    Outputs belong to the runner and stay as they are until the next `infer`; copy them to keep them. 64-bit integers
    are narrowed where the engine takes 32-bit ones and every value fits, as TensorRT's ONNX parser does with weights.

    `last_inference_time()` is what CUDA's events measure on the runner's stream: from the first copy to the device
    to the last copy back, everything on the device in between, without Python's share before and after. Events take
    time that a tiny network notices: a repeated `infer` records them only if the time of the one before was asked for,
    and is else timed by the host's clock.

    Args:
        engine: An engine, an execution context, or a callable that makes one. What a callable makes belongs to the
            runner and goes with it; an object stays the caller's, and a context keeps its profile.
        name: The label in reports.
        optimization_profile: The profile to activate; by default that of the context, else the first.
        allocation_strategy: When memory for activations is sized: `static` for the largest profile, `profile` for
            the active one, `runtime` for the shapes of each feed.
        weight_streaming_budget: Bytes of weights to keep on the device; -1 lets TensorRT choose, None or -2 is off.
        weight_streaming_percent: The same as a share of all weights that can be streamed, 0 to 100.
        debug_listener: A `tensorrt.IDebugListener` for tensors marked as debug tensors. By default they are collected
            and come back as further outputs.
        device: The CUDA device.
        cuda_graph: Run as a CUDA graph from the second inference with the same shapes and addresses on.

    Attributes:
        engine: The engine while active, else None.
        context: The execution context while active, else None.
        device: The CUDA device.
    """

    def __init__(
        self,
        engine: trt.IExecutionContext | Callable[[], trt.IExecutionContext] | EngineSource,
        name: str = "",
        optimization_profile: int | None = None,
        allocation_strategy: str | None = None,
        weight_streaming_budget: int | None = None,
        weight_streaming_percent: float | None = None,
        debug_listener: trt.IDebugListener | None = None,
        device: int = 0,
        cuda_graph: bool = False,
    ) -> None:
        super().__init__(name)
        self._source = engine
        self._profile = optimization_profile
        self._strategy = allocation_strategy or "static"
        self._weight_budget = weight_streaming_budget
        self._weight_percent = weight_streaming_percent
        self._debug_listener = debug_listener
        self.device = device
        self.cuda_graph = cuda_graph
        self._check = True
        self._clear()

    def _clear(self) -> None:
        self.engine: Any = None
        self.context: Any = None
        self._listener: Any = None
        self._stream: Any = None
        self._start: Any = None
        self._stop: Any = None
        self._in: list[Binding] = []
        self._out: list[Binding] = []
        self._allocators: dict[str, Any] = {}
        self._activations: DeviceBuffer | None = None
        self._ready = self._ran = self._wants_time = self._has_events = False
        self._seconds = 0.0
        self._fast_path: FastPath | DevicePath | None = None
        self._graph: GraphLauncher | None = None
        self._lane: Any = None  # it knows the context, and that the engine

    def activate_impl(self) -> None:
        """Get the engine, a context, a stream and the list of tensors.

        Raises:
            BackendError: There is no device or no engine, or not enough memory; what was taken is given back.
        """
        import_tensorrt()
        with errors_as("cannot get ready", self.name), current(self.device), ExitStack() as stack:
            stack.callback(self._clear)
            self._open(stack)
            self._cleanup = stack.pop_all()

    def _open(self, stack: ExitStack) -> None:
        cuda, trt = driver(), import_tensorrt()
        source = resolve(self._source)
        self._owns_context = not isinstance(source, trt.IExecutionContext)
        self._stream = cuda.Stream()
        self._start, self._stop = cuda.Event(), cuda.Event()
        self._cuda, self._cuda_context = cuda, primary_context(self.device)
        if self._owns_context:
            if not isinstance(source, trt.ICudaEngine):
                raise BackendError(f"was given {type(source).__name__} instead of an engine", whose=self.name)
            self.engine = source
            set_weight_budget(source, self._weight_budget, self._weight_percent, self.name)
            self.context = create_context(source, self._strategy, self.name)
        else:
            self.context, self.engine = source, source.engine
        stack.callback(self._free_buffers)
        if self._owns_context and self._strategy == "runtime":
            self._activations = DeviceBuffer()
        self._in, self._out = read_bindings(self.engine)
        self._by_name = {binding.info.name: binding for binding in self._in}
        self._aliased = {binding.info.alias for binding in self._out if binding.info.alias}
        choose_profile(self.context, self._profile, self._stream, self.name, is_new=self._owns_context)
        self._listener = listen(self.context, self._debug_listener)
        if self.cuda_graph:
            self._graph = launcher(self.context, self._owns_context, self._listener, (*self._in, *self._out), self.name)
            stack.callback(self._graph.forget)
        execute = self._graph.launch if self._graph is not None else self.context.execute_async_v3
        events = (self._start, self._stop)
        self._lane = Lane(cuda, self._cuda_context, execute, self._set_address, self._stream, *events, self.device)

    def _set_address(self, name: str, address: int) -> bool:
        if self._graph is not None:
            self._graph.moved()
        return bool(self.context.set_tensor_address(name, address))

    def set_profile(self, index: int) -> None:
        """Switch to another optimization profile; stays until the context goes or is switched again.

        Raises:
            BackendError: The runner is not active, or there is no such profile.
        """
        self._require_active("set_profile()")
        with errors_as("cannot switch the profile", self.name), current(self.device):
            choose_profile(self.context, index, self._stream, self.name)
        self.forget_inputs()
        self._fast_path = None
        self._ready = False

    def set_debug_listener(self, listener: trt.IDebugListener) -> None:
        """Send debug tensors to a `tensorrt.IDebugListener` from now on."""
        self._require_active("set_debug_listener()")
        if self._graph is not None:
            refuse_debugging(self.name)
        self._listener = self._debug_listener = listener
        self.context.set_debug_listener(listener)

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the inputs with the smallest and largest shapes of the active profile."""
        profile = max(0, self.context.active_optimization_profile)
        entries: dict[str, TensorEntry] = profile_metadata(self.engine, profile, [item.info for item in self._in])
        return TensorMetadata(entries)

    def infer(self, feed_dict: Feed, check_inputs: bool = True, **kwargs: Any) -> dict[str, Any]:
        """Run the engine once; see `Runner.infer`.

        Args:
            feed_dict: One array per input, or the address of device memory as a plain `int` for a static shape.
            check_inputs: Check names, types, shapes and the profile's range; done only when the shapes change.
            kwargs: `copy_outputs_to_host=False` leaves outputs on the device and returns `DeviceView` objects.

        Returns:
            Output arrays by name, valid until the next call.

        Raises:
            BackendError: The runner is not active, or the run failed.
            DataError: The feed does not fit the engine or the profile.
        """
        path = self._fast_path
        if path is not None and kwargs == path.arguments and path.takes(feed_dict):
            timed, self._wants_time = self._wants_time, False
            start = time.perf_counter()
            try:
                outputs = path.run(feed_dict, timed=timed)
            except self._cuda.Error as error:
                self._fail(error)
            except Refused:
                self._explain_failure()
            self._seconds, self._has_events = time.perf_counter() - start, timed
            return outputs
        self._check = check_inputs
        return super().infer(feed_dict, check_inputs=False, **kwargs)

    def infer_impl(self, feed_dict: dict[str, Any], copy_outputs_to_host: bool = True) -> dict[str, Any]:
        """Copy in, run, copy out, and wait."""
        self._fast_path, self._ran = None, False
        self._cuda_context.push()
        try:
            if not self._unchanged(feed_dict):
                feed_dict = take_in(feed_dict, self._by_name, int(self._stream.handle), self.device)
                if not self._unchanged(feed_dict):
                    self._prepare(feed_dict)
            outputs = self._execute(feed_dict, copy_outputs_to_host)
        except self._cuda.Error as error:
            self._fail(error)
        except BaseException:
            self._ready = False
            raise
        finally:
            self._cuda_context.pop()
        self._ran = self._has_events = True
        if self._ready and self._listener is None and not self._allocators:
            self._fast_path = fast_path(self._lane, self._in, self._out, outputs, on_host=copy_outputs_to_host)
        return outputs

    def _fail(self, error: Exception) -> NoReturn:
        self._ready, self._fast_path, self._ran = False, None, False
        with errors_as("inference failed", self.name):
            raise error
        raise error

    def last_inference_time(self) -> float:
        """Return the duration of the last `infer` on the device, copies included, in seconds; see the class.

        Raises:
            BackendError: There was no `infer` since activation.
        """
        if self._ran and self._stop is not None:
            self.inference_time = self._stop.time_since(self._start) * 1e-3 if self._has_events else self._seconds
            self._wants_time = True
        return super().last_inference_time()

    def _unchanged(self, feed: Mapping[str, Any]) -> bool:
        """Return whether the shapes of the last call, and the values of shape tensors, hold for this feed too."""
        if not self._ready or len(feed) != len(self._in):
            return False
        for binding in self._in:
            value = feed.get(binding.info.name)
            if not isinstance(value, np.ndarray if binding.info.on_host else (np.ndarray, DeviceView)):
                return False
            if value.shape != binding.shape or value.dtype != binding.info.dtype:
                return False
            if binding.info.on_host and not np.array_equal(cast("np.ndarray[Any, Any]", value), binding.view):
                return False
        return True

    def _prepare(self, arrays: Mapping[str, Any]) -> None:
        """Check a feed of arrays and views, set TensorRT's input shapes, and allocate memory."""
        metadata = self.get_input_metadata() if self._check else None
        check_inputs(arrays, self._by_name, metadata)
        if metadata is not None:
            check_shapes(arrays, self._by_name, metadata, self.engine, self.context, self.name)
        self._ready = False
        with noted_errors() as notes:
            for binding in self._in:
                self._set_input(binding, arrays[binding.info.name], notes)
            lacking = self.context.infer_shapes()
        if lacking:
            raise BackendError(f"TensorRT lacks the shape or content of {lacking}", whose=self.name, why=notes.why())
        if self._activations is not None:
            reserve_activations(self.context, self._activations)
        for binding in self._out:
            self._set_output(binding)
        if self._graph is not None:
            self._graph.renew(list(self._allocators))
        self._ready = self._owns_context  # another runner may change a shared context in between

    def _set_input(self, binding: Binding, value: Array | DeviceView, notes: ErrorNotes) -> None:
        name, shape = binding.info.name, tuple(value.shape)
        if not self.context.set_input_shape(name, shape):
            raise DataError(f"TensorRT refuses shape {list(shape)} for input {name!r}", why=notes.why())
        strides = None if binding.info.linear else tuple(self.context.get_tensor_strides(name))
        binding.shape_for(shape, strides)
        if binding.info.on_host:
            binding.view[...] = value
            self._address(binding, binding.host.address)

    def _set_output(self, binding: Binding) -> None:
        info = binding.info
        shape = tuple(self.context.get_tensor_shape(info.name))
        if any(dim < 0 for dim in shape):
            if info.name not in self._allocators:
                self._allocators[info.name] = output_allocator_class()(binding.device)
            self.context.set_output_allocator(info.name, self._allocators[info.name])
            return
        strides = None if info.linear else tuple(self.context.get_tensor_strides(info.name))
        binding.shape_for(shape, strides)
        if not info.alias:
            self._address(binding, binding.host.address if info.on_host else binding.device.address)

    def _address(self, binding: Binding, address: int) -> None:
        if (address != binding.last_address or not self._owns_context) and not self._set_address(
            binding.info.name, address
        ):
            raise BackendError(f"TensorRT refuses the memory for {binding.info.name!r}", whose=self.name)
        binding.last_address = address

    def _execute(self, feed: Mapping[str, Any], to_host: bool) -> dict[str, Any]:
        stream = self._stream
        self._start.record(stream)
        for binding in self._in:
            if not binding.info.on_host:
                value = feed[binding.info.name]
                if type(value) is np.ndarray:
                    binding.upload(value, stream)
                    address = binding.device.address
                else:
                    address = self._lane.place(binding, value, self._aliased)
                if address != binding.last_address:
                    self._address(binding, address)
        for binding in self._out:
            if binding.info.alias:
                self._address(binding, self._by_name[binding.info.alias].last_address)
        if self._listener is not None and hasattr(self._listener, "tensors"):
            self._listener.tensors = {}
        if not self._lane.execute(int(self._stream.handle)):
            self._explain_failure()
        return self._collect(to_host)

    def _collect(self, to_host: bool) -> dict[str, Any]:
        stream = self._stream
        if self._allocators:
            stream.synchronize()
            self._learn_shapes()
        if to_host:
            for binding in self._out:
                if not binding.info.on_host:
                    binding.download(self._source_address(binding), stream)
        self._stop.record(stream)
        stream.synchronize()
        if to_host:
            outputs: dict[str, Any] = {
                binding.info.name: binding.view if binding.plain else binding.result() for binding in self._out
            }
        else:
            outputs = {
                binding.info.name: binding.view
                if binding.info.on_host
                else binding.device_result(self._source_address(binding), self.device)
                for binding in self._out
            }
        if self._listener is not None:
            outputs.update(getattr(self._listener, "tensors", {}))
        return outputs

    def _source_address(self, binding: Binding) -> int:
        return binding.last_address if binding.info.alias else binding.device.address

    def _learn_shapes(self) -> None:
        for binding in self._out:
            allocator = self._allocators.get(binding.info.name)
            if allocator is not None:
                if allocator.error is not None:
                    error, allocator.error = allocator.error, None
                    raise error
                # The allocator's memory holds the result, so it must not be resized here.
                strides = None if binding.info.linear else tuple(self.context.get_tensor_strides(binding.info.name))
                binding.shape_for(cast("tuple[int, ...]", allocator.shape), strides)

    def _explain_failure(self) -> NoReturn:
        self._ready, self._fast_path, self._ran = False, None, False
        for allocator in self._allocators.values():
            if allocator.error is not None:
                error, allocator.error = allocator.error, None
                raise error
        raise BackendError("TensorRT refused to run the engine", whose=self.name, why=last_errors())

    def _free_buffers(self) -> None:
        for binding in (*self._in, *self._out):
            binding.free()
        if self._activations is not None:
            self._activations.free()

    def deactivate_impl(self) -> None:
        """Free the buffers, stream and context, and the engine if the runner owns it."""
        if self._ran:
            self.last_inference_time()
        with errors_as("cannot release its memory", self.name), current(self.device):
            self._cleanup.close()
