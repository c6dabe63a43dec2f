"""Execution contexts: how memory for activations is sized, and how many weights stay on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.errors import BackendError, UsageError, did_you_mean
from polycmp_trt.features import has, import_tensorrt, require, supports
from polycmp_trt.run.cuda import DeviceBuffer, memory_trouble
from polycmp_trt.run.runtime import noted_errors

if TYPE_CHECKING:
    import pycuda.driver as cuda
    import tensorrt as trt

_STRATEGIES = {"static": "STATIC", "profile": "ON_PROFILE_CHANGE", "runtime": "USER_MANAGED"}


def create_context(engine: trt.ICudaEngine, strategy: str, whose: str) -> trt.IExecutionContext:
    """Return a new execution context.

    Args:
        engine: The engine.
        strategy: When memory for activations is sized: `static`, `profile` or `runtime`.
        whose: The runner, for errors.

    Raises:
        BackendError: There is not enough memory, or the release cannot do this.
        UsageError: There is no such strategy.
    """
    if strategy not in _STRATEGIES:
        raise UsageError(
            f"unknown allocation strategy {strategy!r}", whose=whose, why=did_you_mean(strategy, _STRATEGIES)
        )
    with noted_errors() as notes:
        context = _create(engine, strategy)
    if context is None:
        raise BackendError(
            "TensorRT could not create an execution context",
            whose=whose,
            why="; ".join(filter(None, [memory_trouble(), notes.why()])),
            hint="nvidia-smi (is enough device memory free?)",
        )
    notes.release()
    return context


def bare_context(engine: trt.ICudaEngine) -> trt.IExecutionContext:
    """Return an execution context without memory for activations: set some before running it."""
    if has("ICudaEngine.create_execution_context_without_device_memory"):
        return engine.create_execution_context_without_device_memory()
    strategies = import_tensorrt().ExecutionContextAllocationStrategy
    return engine.create_execution_context(strategies.USER_MANAGED)


def _create(engine: trt.ICudaEngine, strategy: str) -> trt.IExecutionContext:
    if strategy == "static":
        return engine.create_execution_context()
    if strategy == "runtime":
        return bare_context(engine)
    require("allocation_strategy", f"--allocation-strategy {strategy}")
    strategies = import_tensorrt().ExecutionContextAllocationStrategy
    return engine.create_execution_context(getattr(strategies, _STRATEGIES[strategy]))


def choose_profile(
    context: trt.IExecutionContext, wanted: int | None, stream: cuda.Stream, whose: str, *, is_new: bool = False
) -> None:
    """Switch a context to an optimization profile.

    Args:
        context: The execution context.
        wanted: The profile; None keeps the one it has.
        stream: A stream for the switch.
        whose: The runner, for errors.
        is_new: The context has just been made by the runner.

    Raises:
        BackendError: There is no such profile, or another context holds it.
    """
    active = context.active_optimization_profile
    if is_new and active < 0 and not wanted:
        # A new context gets the first profile if that is free. Setting it nonetheless crashes TensorRT 8.6.
        raise BackendError(
            "optimization profile 0 is taken by another execution context of the same engine",
            whose=whose,
            hint="choose another profile, or free that context; newer releases share profiles",
        )
    if wanted is None or wanted == active:
        return
    count = context.engine.num_optimization_profiles
    if not 0 <= wanted < count:
        raise BackendError(
            f"the engine has no optimization profile {wanted}", whose=whose, why=f"profiles: 0 to {count - 1}"
        )
    with noted_errors() as notes:
        switched = context.set_optimization_profile_async(wanted, int(stream.handle))
    stream.synchronize()
    if not switched:
        raise BackendError(f"cannot use optimization profile {wanted}", whose=whose, why=notes.why())


def reserve_activations(context: trt.IExecutionContext, buffer: DeviceBuffer) -> None:
    """Set the activation memory of a context of the strategy `runtime`, for its present shapes."""
    if has("IExecutionContext.update_device_memory_size_for_shapes"):
        size = int(context.update_device_memory_size_for_shapes())
    else:
        size = int(context.engine.device_memory_size)
    address = buffer.reserve(size)
    if has("IExecutionContext.set_device_memory"):
        context.set_device_memory(address, buffer.capacity)
    else:
        context.device_memory = address


def set_weight_budget(engine: trt.ICudaEngine, budget: int | None, percent: float | None, whose: str) -> None:
    """Limit how many bytes of an engine's weights stay on the device, the rest being streamed when needed.

    Args:
        engine: An engine built for weight streaming, without contexts yet.
        budget: Bytes; -1 lets TensorRT choose; None or -2 keeps all of them there.
        percent: The same as a share of the weights that can be streamed.
        whose: The runner, for errors.

    Raises:
        BackendError: The release cannot stream weights, or the engine was not built for it.
        UsageError: The share is not between 0 and 100.
    """
    if percent is not None and not 0 <= percent <= 100:
        raise UsageError(f"{percent} is not a percentage", whose=whose, hint="--weight-streaming-budget 0% to 100%")
    if percent is None and budget in {None, -2}:
        return
    require("weight_streaming_budget", "--weight-streaming-budget")
    total = int(engine.streamable_weights_size)
    if not total:
        raise BackendError(
            "the engine cannot stream weights",
            whose=whose,
            hint="build it with --weight-streaming and --strongly-typed",
        )
    if percent is not None:
        engine.weight_streaming_budget_v2 = int(total * percent / 100)
    elif budget == -1:
        engine.weight_streaming_budget_v2 = int(engine.get_weight_streaming_automatic_budget())
    else:
        engine.weight_streaming_budget_v2 = min(int(budget or 0), total)


def device_memory(engine: trt.ICudaEngine) -> int:
    """Return the bytes of device memory for activations in the largest profile."""
    if supports("device_memory_v2"):
        return int(engine.device_memory_size_v2)
    return int(engine.device_memory_size)
