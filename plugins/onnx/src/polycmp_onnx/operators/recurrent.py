"""RNN, GRU and LSTM by ONNX's equations; its own ignore lengths, clipping, activations and the coupling of gates."""
# ruff: noqa: N801

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

#: Activation -> (alpha and beta where none are given, None where it has no such; the function).
_ACTIVATIONS: dict[str, tuple[float | None, float | None, Callable[[Any, Any, Any], Any]]] = {
    "relu": (None, None, lambda x, a, b: np.maximum(x, 0)),
    "tanh": (None, None, lambda x, a, b: np.tanh(x)),
    "sigmoid": (None, None, lambda x, a, b: 1 / (1 + np.exp(-x))),
    "affine": (1.0, 0.0, lambda x, a, b: a * x + b),
    "leakyrelu": (0.01, None, lambda x, a, b: np.where(x >= 0, x, a * x)),
    "thresholdedrelu": (1.0, None, lambda x, a, b: np.where(x >= a, x, 0)),
    "scaledtanh": (1.0, 1.0, lambda x, a, b: a * np.tanh(b * x)),
    "hardsigmoid": (0.2, 0.5, lambda x, a, b: np.clip(a * x + b, 0, 1)),
    "elu": (1.0, None, lambda x, a, b: np.where(x >= 0, x, a * np.expm1(x))),
    "softsign": (None, None, lambda x, a, b: x / (1 + np.abs(x))),
    "softplus": (None, None, lambda x, a, b: np.logaddexp(0, x)),
}
#: Place of the activation of the state, which LSTM alone has.
_OF_STATE = 2


@dataclass(frozen=True)
class _Cell:
    """Weights and functions of one direction.

    Attributes:
        w: Weights of the input, a row for each gate and hidden number.
        r: Weights of the state.
        wb: Bias of the input.
        rb: Bias of the state.
        functions: Activations, clipping their input.
        peepholes: Of LSTM: what the cell adds to the input, output and forget gates.
        flag: Of GRU `linear_before_reset`, of LSTM `input_forget`.
    """

    w: Any
    r: Any
    wb: Any
    rb: Any
    functions: Sequence[Callable[[Any], Any]]
    peepholes: Any
    flag: bool


class _Recurrent(OpRun):  # type: ignore[misc]
    """What the three have in common: directions, layouts, lengths."""

    gates = 1
    defaults: tuple[str, ...] = ()

    def _run(
        self,
        x: Any,
        w: Any,
        r: Any,
        b: Any = None,
        lengths: Any = None,
        h: Any = None,
        c: Any = None,
        p: Any = None,
        **attributes: Any,
    ) -> tuple[Any, ...]:
        batch_first = bool(attributes.get("layout"))
        if batch_first:
            x, h, c = (None if item is None else np.swapaxes(item, 0, 1) for item in (x, h, c))
        direction = attributes.get("direction") or "forward"
        count = 2 if direction == "bidirectional" else 1
        if w.shape[0] != count:
            raise ValueError(f"weights for {w.shape[0]} directions, and direction is {direction!r}")
        hidden, shape = r.shape[-1], (count, x.shape[1], r.shape[-1])
        bias = np.zeros((count, 2 * self.gates * hidden), x.dtype) if b is None else b
        state = [np.zeros(shape, x.dtype) if item is None else item for item in (h, c)]
        peepholes = np.zeros((count, 3 * hidden), x.dtype) if p is None else p
        ends = np.full(x.shape[1], x.shape[0]) if lengths is None else np.asarray(lengths)
        every, last = [], []
        for place in range(count):
            is_reverse = direction == "reverse" or place == 1
            wb, rb = np.split(bias[place], 2)
            flag = bool(attributes.get("linear_before_reset") or attributes.get("input_forget"))
            functions = _functions(attributes, self.defaults, place)
            cell = _Cell(w[place], r[place], wb, rb, functions, np.split(peepholes[place], 3), flag)
            order = _order(x.shape[0], ends, is_reverse)
            outputs, final = self._over_time(cell, x, order, ends, [item[place] for item in state])
            every.append(outputs)
            last.append(final)
        y = np.stack(every, axis=1)
        final_states = [np.stack(items) for items in zip(*last, strict=True)]
        if batch_first:
            y = y.transpose(2, 0, 1, 3)
            final_states = [item.swapaxes(0, 1) for item in final_states]
        return tuple(item.astype(x.dtype) for item in (y, *final_states))[: len(self.onnx_node.output)]

    def _over_time(self, cell: _Cell, x: Any, order: Any, ends: Any, state: list[Any]) -> tuple[Any, list[Any]]:
        """Return the outputs of all steps, 0 behind the end of a sequence, and the last state of each sequence."""
        batch = np.arange(x.shape[1])
        outputs = np.zeros((x.shape[0], x.shape[1], cell.r.shape[-1]), x.dtype)
        for step, at in enumerate(order):
            going = (step < ends)[:, None]
            output = self.step(cell, x[at, batch], state)
            state = [np.where(going, new, old) for new, old in zip(output, state, strict=True)]
            outputs[at, batch] = np.where(going, output[0], 0)
        return outputs, state[: self.states]

    states = 1

    def step(self, cell: _Cell, x: Any, state: list[Any]) -> list[Any]:
        """Return the next state."""
        raise NotImplementedError


def _order(length: int, ends: Any, is_reverse: bool) -> Any:
    """Return which element of each sequence is the next, by step; backwards from its own end."""
    steps = np.arange(length)[:, None]
    forward = np.broadcast_to(steps, (length, len(ends)))
    return np.where(steps < ends, ends - 1 - steps, steps) if is_reverse else forward


def _functions(attributes: dict[str, Any], defaults: Sequence[str], place: int) -> list[Callable[[Any], Any]]:
    """Return the activations of a direction; parameters are taken in turn by those activations that have them."""
    named = [str(name).lower() for name in attributes.get("activations") or ()]
    names = named or [name.lower() for name in defaults] * 2
    parameter_lists = [list(attributes.get(name) or ()) for name in ("activation_alpha", "activation_beta")]
    clip = attributes.get("clip")
    functions = []
    for at, name in enumerate(names):
        if name not in _ACTIVATIONS:
            raise NotImplementedError(f"activation {name!r}")
        *usual, function = _ACTIVATIONS[name]
        parameters = [
            values.pop(0) if values and default is not None else default
            for values, default in zip(parameter_lists, usual, strict=True)
        ]
        # The third function of a direction is that of the cell's state, whose input no runtime clips.
        is_of_state = at % len(defaults) == _OF_STATE
        functions.append(_clipped(function, parameters, None if is_of_state else clip))
    return functions[place * len(defaults) : (place + 1) * len(defaults)]


def _clipped(
    function: Callable[..., Any], parameters: Sequence[float | None], clip: float | None
) -> Callable[[Any], Any]:
    def apply(x: Any) -> Any:
        return function(np.clip(x, -clip, clip) if clip else x, *parameters).astype(x.dtype)

    return apply


class RNN_14(_Recurrent):
    """RNN."""

    defaults = ("Tanh",)

    def step(self, cell: _Cell, x: Any, state: list[Any]) -> list[Any]:
        """Return the next state."""
        hidden, cell_state = state
        return [cell.functions[0](x @ cell.w.T + hidden @ cell.r.T + cell.wb + cell.rb), cell_state]


class GRU_14(_Recurrent):
    """GRU."""

    gates = 3
    defaults = ("Sigmoid", "Tanh")

    def step(self, cell: _Cell, x: Any, state: list[Any]) -> list[Any]:
        """Return the next state."""
        hidden, unused = state
        f, g = cell.functions
        from_x = np.split(x @ cell.w.T + cell.wb, 3, axis=-1)
        weights, bias = np.split(cell.r, 3), np.split(cell.rb, 3)
        z, reset = (f(from_x[at] + hidden @ weights[at].T + bias[at]) for at in (0, 1))
        if cell.flag:
            h = g(from_x[2] + reset * (hidden @ weights[2].T + bias[2]))
        else:
            h = g(from_x[2] + (reset * hidden) @ weights[2].T + bias[2])
        return [(1 - z) * h + z * hidden, unused]


class LSTM_14(_Recurrent):
    """LSTM."""

    gates = 4
    defaults = ("Sigmoid", "Tanh", "Tanh")
    states = 2

    def step(self, cell: _Cell, x: Any, state: list[Any]) -> list[Any]:
        """Return the next state."""
        hidden, old = state
        f, g, h = cell.functions
        of_input, of_output, of_forget = cell.peepholes
        i, o, forget, c = np.split(x @ cell.w.T + hidden @ cell.r.T + cell.wb + cell.rb, 4, axis=-1)
        i = f(i + of_input * old)
        forget = 1 - i if cell.flag else f(forget + of_forget * old)
        new = forget * old + i * g(c)
        return [f(o + of_output * new) * h(new), new]
