"""Runs of a module whose operators' results move by a few roundings, at random, as rounding moves them.

The rule is that of models in ONNX: what an operator calculates moves, numbers that it hands on stay, and so do tensors
of whole numbers. PyTorch's own operators are moved, those below autograd: what a function such as `tanhshrink` or a
backward pass is made of moves, too. They run one by one, in eager mode.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from polycmp.precision import HANDING_ON, operator_rounding, unit_of
from polycmp_torch.options import Options
from polycmp_torch.runner import TorchRunner, module_of
from polycmp_torch.steps import TYPES
from polycmp_torch.values import address

if TYPE_CHECKING:
    from polycmp.spec import ModelHandle

#: Operators without a name in ONNX that hand on numbers which they read, set others that were given, or make whole
#: numbers; by PyTorch's names, those that write in place without their underscore.
_HANDING_ON = frozenset(
    {"as_strided", "bernoulli", "ceil", "clamp_max", "clamp_min", "complex", "conj_physical", "copy", "copysign",
     "cummax", "cummin", "diag_embed", "empty_like", "fill", "flip", "floor", "fmax", "fmin", "full_like", "heaviside",
     "index", "index_copy", "index_fill", "index_put", "kthvalue", "lift_fresh", "masked_scatter", "masked_select",
     "max", "max_pool2d_with_indices", "max_pool3d_with_indices", "median", "min", "mode", "nan_to_num", "new_empty",
     "new_empty_strided", "new_full", "new_ones", "new_zeros", "ones_like", "rand_like", "randint_like", "randn_like",
     "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "repeat", "replication_pad1d", "replication_pad2d",
     "replication_pad3d", "resize", "roll", "round", "scatter", "select_scatter", "set", "sgn", "sign",
     "slice_scatter", "sort", "take", "threshold", "threshold_backward", "topk", "tril", "triu", "trunc",
     "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "zero", "zeros_like"}
)  # fmt: skip


class PerturbedRunner(TorchRunner):
    """Runs a module with the results of its operators moved at random; the random numbers go on from run to run.

    Args:
        model: A `TorchModel`, or a callable that returns one.
        name: The label in reports.
        options: Device, type, gradients and threads.
        kind: The type that is rounded to, where that is coarser than a tensor's own.
        seed: Seed of the random numbers.
        times: How many times as far results move as rounding moves them.
    """

    # In inference mode PyTorch shows functions such as `tanhshrink` as one operator.
    _in_inference_mode: ClassVar[bool] = False

    def __init__(self, model: Any, name: str, options: Options, kind: str, seed: int, times: float = 1.0) -> None:
        super().__init__(model, name, options)
        self._kind, self._seed, self._times = kind, seed, times

    def activate_impl(self) -> None:
        """Load the module; errors as those of the module as it is."""
        super().activate_impl()
        self._moved_operators = _moved_operators(self._torch, self._kind, self._seed, self._times, self._options.device)

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return the tensors that the module returns; errors as those of the module as it is."""
        with self._rounded_weights(), self._moved_operators:
            return super().infer_impl(feed_dict)

    @contextmanager
    def _rounded_weights(self) -> Iterator[None]:
        """Round the weights while the module runs, where the type that is rounded to is coarser than theirs.

        A script may give the same module to the run that is compared.
        """
        torch = self._torch
        coarse = getattr(torch, self._kind, None)
        eps = torch.finfo(coarse).eps if coarse is not None and coarse.is_floating_point else 0.0
        finer = [item for item in self._weights if item.is_floating_point() and torch.finfo(item.dtype).eps < eps]
        exact = [item.detach().clone() for item in finer]
        try:
            with torch.no_grad():
                for weight in finer:
                    weight.copy_(weight.to(coarse))
            yield
        finally:
            with torch.no_grad():
                for weight, numbers in zip(finer, exact, strict=True):
                    weight.copy_(numbers)


def make_perturbed(
    model: ModelHandle, options: Options | None, kind: str, seed: int, times: float, *, name: str
) -> TorchRunner:
    """Return a runner of the module in eager mode whose operators' results move, as `RunnerTools.perturbed` describes.

    Args:
        model: The model handle.
        options: The backend's options.
        kind: The type that is rounded to; empty for the module as it is.
        seed: Seed of the random numbers.
        times: How many times as far results move as rounding moves them.
        name: The label in reports.

    Raises:
        BackendError: A part of the model was asked for from a script that makes the whole.
    """
    eager = replace(options or Options(), compile=False, compiler="inductor", disable=(), dynamic=False)
    module = module_of(model, eager, name)
    return PerturbedRunner(module, name, eager, kind, seed, times) if kind else TorchRunner(module, name, eager)


def _moved_operators(torch: Any, kind: str, seed: int, times: float, device: str) -> Any:
    """Return a context in which the results of operators move.

    Args:
        torch: The module `torch`.
        kind: The type that is rounded to, where that is coarser than a tensor's own.
        seed: Seed of the random numbers.
        times: How many times as far results move as rounding moves them.
        device: Device that draws them.
    """
    # Its module looks private, but is where PyTorch's page "Extending PyTorch" has it; nothing else sees the operators
    # of a backward pass and those inside of functions.
    from torch.utils._python_dispatch import TorchDispatchMode

    random = torch.Generator(device).manual_seed(seed)

    def move(result: Any) -> None:
        numbers = torch.view_as_real(result) if result.is_complex() else result
        share = times * operator_rounding(max(unit_of(kind), torch.finfo(numbers.dtype).eps / 2))
        # A float16 next to 1 has no number as near as the factor.
        wide = numbers.dtype if numbers.dtype.itemsize > 2 else torch.float32
        draws = torch.rand(numbers.shape, generator=random, device=random.device, dtype=wide).to(numbers.device)
        numbers.copy_(numbers.to(wide) * (1 + share * (2 * draws - 1)))  # zeros keep their sign, infinities stay

    class MovedOperators(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            arguments = kwargs or {}
            result = func(*args, **arguments)
            name = func.__name__.partition(".")[0].rstrip("_")
            if name not in _HANDING_ON and TYPES.get(name) not in HANDING_ON:
                read = [*_tensors(torch, args), *_tensors(torch, arguments.values())]
                for item in _calculated(torch, result, read):
                    move(item)
            return result

    return MovedOperators()


def _calculated(torch: Any, result: Any, read: list[Any]) -> Iterator[Any]:
    """Yield the real and complex tensors that an operator calculated of others; views of what it read are none.

    Args:
        torch: The module `torch`.
        result: What the operator returned.
        read: The tensors that it read.
    """
    if not any(_is_moved(torch, item) for item in read):
        return
    addresses = {address(item) for item in read}
    for item in _tensors(torch, (result,)):
        is_written = any(item is other for other in read)
        is_repeated = 0 in item.stride()[: item.dim()] if item.layout == torch.strided else True
        if _is_moved(torch, item) and not is_repeated and (is_written or address(item) not in addresses):
            yield item


def _is_moved(torch: Any, tensor: Any) -> bool:
    kinds = {torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128}
    return tensor.dtype in kinds and tensor.numel() > 0


def _tensors(torch: Any, values: Any) -> Iterator[Any]:
    """Yield the tensors among arguments or results of an operator, in lists of them, too."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _tensors(torch, value)
