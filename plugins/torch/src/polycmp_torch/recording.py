"""Recording of a module that cannot be traced: its operators for certain inputs, and the values that escape it.

A value that leaves the tensors, as a number, an array or a truth value that decides the way, is what an export keeps
from its example inputs. Here such values are known with the line that takes them, and can be replaced by others.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from polycmp.tensors import dtype_of
from polycmp_torch.steps import TYPES, ProgramStep, ProgramSteps, Ref, product_steps, used
from polycmp_torch.values import flatten

#: Operations that take values out of tensors, by PyTorch's names.
_NUMBERS = frozenset({"item", "__float__", "__int__", "__index__"})
_BRANCHES = frozenset({"__bool__"})
_ARRAYS = frozenset({"tolist", "numpy", "__array__"})


@dataclass(frozen=True)
class EscapedValue:
    """A value that left the tensors.

    Attributes:
        kind: `number`, `way` or `array`.
        value: The value.
        line: Origin of the value: file, line and code.
    """

    kind: str
    value: Any
    line: str


@dataclass
class Recording:
    """Operators that a module called, and the values that they made.

    Attributes:
        steps: Operators of the module, in their order.
        escaped: The values that left the tensors, in their order.
        tensors: Every tensor that was made.
        returned: Tensors that the module returned.
    """

    steps: ProgramSteps = field(default_factory=ProgramSteps)
    escaped: list[EscapedValue] = field(default_factory=list)
    tensors: list[Any] = field(default_factory=list)
    returned: list[Any] = field(default_factory=list)


def record(
    torch: Any,
    module: Any,
    places: Mapping[str, Any],
    keywords: Mapping[str, Any],
    outputs: Sequence[str] = (),
    instead: Mapping[int, Any] | None = None,
) -> Recording:
    """Run a module and record its operators.

    Args:
        torch: The module `torch`.
        module: The module.
        places: Input tensors by name, in the order of the call.
        keywords: Those that it takes by name.
        outputs: Names of what it returns.
        instead: Values to go on with in place of those that leave the tensors, by their place among these.
    """
    from torch.overrides import TorchFunctionMode

    inputs = {**places, **keywords}
    recording = Recording(ProgramSteps(inputs=tuple(inputs)))
    recorder = _Recorder(torch, module, recording, inputs, instead or {})

    class Mode(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return recorder.call(func, args, kwargs or {})

    hooks = recorder.follow() if hasattr(module, "named_modules") else []
    try:
        with torch.no_grad(), Mode():
            recording.returned = [value for _, value in flatten(module(*places.values(), **keywords))]
    finally:
        for hook in hooks:
            hook.remove()
    names = outputs or [f"output_{place}" for place in range(len(recording.returned))]
    recording.steps.outputs = {
        name: recorder.names[id(value)]
        for name, value in zip(names, recording.returned, strict=False)
        if id(value) in recorder.names
    }
    recording.steps.steps, _ = used(recording.steps, recording.steps.outputs.values())
    return recording


class _Recorder:
    """Records the calls of one run."""

    def __init__(
        self, torch: Any, module: Any, recording: Recording, inputs: Mapping[str, Any], instead: Mapping[int, Any]
    ) -> None:
        self.torch, self.module, self.recording, self.instead = torch, module, recording, instead
        self.names: dict[int, str] = {id(tensor): name for name, tensor in inputs.items()}
        self.references: list[Any] = list(inputs.values())  # a tensor that is let go would lend its id to another
        self.around: list[str] = []
        if hasattr(module, "named_parameters"):
            for name, tensor in (*module.named_parameters(), *module.named_buffers()):
                self.names[id(tensor)] = name
                recording.steps.constants[name] = tensor.detach()

    def follow(self) -> list[Any]:
        """Track which submodule runs; return the hooks to remove."""

        def enter(name: str, *_: Any) -> None:
            self.around.append(name)

        def leave(*_: Any) -> None:
            self.around.pop()

        hooks = []
        for name, part in self.module.named_modules():
            hooks.append(part.register_forward_pre_hook(partial(enter, name)))
            hooks.append(part.register_forward_hook(leave))
        return hooks

    def call(self, func: Any, args: Any, keywords: Any) -> Any:
        """Call a function, and record it if it returns tensors or takes a value out of them."""
        target = str(getattr(func, "__name__", func))
        if target.endswith("_") and not target.endswith("__"):  # in place: a part may not write into what it reads
            target, read = target[:-1], self._plain((args, keywords))
        else:
            read = self._plain((args, keywords))
        result = func(*args, **keywords)
        kind = (
            "number" if target in _NUMBERS else "way" if target in _BRANCHES else "array" if target in _ARRAYS else ""
        )
        if kind:
            return self._escape(kind, result)
        several = isinstance(result, (tuple, list))
        tensors = list(result) if several else [result]
        if tensors and all(isinstance(item, self.torch.Tensor) for item in tensors):
            self._step(func, target, read, tensors, several)
        return result

    def _escape(self, kind: str, value: Any) -> Any:
        value = self.instead.get(len(self.recording.escaped), value)
        self.recording.escaped.append(EscapedValue(kind, value, _line()[0]))
        return value

    def _step(self, func: Any, target: str, read: Any, tensors: Sequence[Any], several: bool) -> None:
        plain = target.strip("_")
        plain = {"truediv": "div", "rtruediv": "div", "radd": "add", "rmul": "mul", "getitem": "select"}.get(
            plain, plain
        )
        module = self.around[-1] if self.around else ""
        name = f"{plain}_{len(self.recording.steps.steps)}"
        name = f"{module}/{name}" if module else name
        names = tuple(f"{name}.{index}" for index in range(len(tensors))) if several else (name,)
        for output, tensor in zip(names, tensors, strict=True):
            self.names[id(tensor)] = output
            self.references.append(tensor)
            self.recording.tensors.append(tensor.detach().clone())
            self.recording.steps.types.add(output, dtype_of(tensor), [int(dim) for dim in tensor.shape])
        function = partial(_on_copies, self.torch, func)
        step = ProgramStep(
            TYPES.get(plain, plain), plain, function, read[0], read[1], names, module, _line()[1], several
        )
        self.recording.steps.steps += (
            product_steps(self.torch, step, self.recording.steps.types) if plain == "linear" else [step]
        )

    def _plain(self, value: Any) -> Any:
        """Return arguments with names in place of tensors."""
        if isinstance(value, self.torch.Tensor):
            name = self.names.get(id(value))
            if name is None:  # made of what left the tensors, or held by the module as a plain attribute
                name = self.names[id(value)] = f"constant_{len(self.recording.steps.constants)}"
                self.recording.steps.constants[name] = value.detach().clone()
                self.references.append(value)
            return Ref(name)
        if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
            return type(value)(self._plain(item) for item in value)
        if isinstance(value, dict):
            return {key: self._plain(item) for key, item in value.items()}
        return value


def _on_copies(torch: Any, func: Any, *args: Any, **keywords: Any) -> Any:
    """Call an operator that may write into its first argument."""
    first = args[0].clone() if args and isinstance(args[0], torch.Tensor) else None
    return func(*(args if first is None else (first, *args[1:])), **keywords)


def _line() -> tuple[str, str]:
    """Return the innermost line outside of PyTorch, and the stack in the form in which exporters write it."""
    skipped_folders = {Path(__file__).parent.name, "torch"}
    for frame in reversed(traceback.extract_stack()):
        if not skipped_folders.intersection(Path(frame.filename).parts):
            line = f"{Path(frame.filename).name}:{frame.lineno} ({(frame.line or '').strip()})"
            return (
                line,
                f'File "{frame.filename}", line {frame.lineno}, in {frame.name}\n    {(frame.line or "").strip()}',
            )
    return "", ""
