"""The quantised LSTM of the domain com.microsoft, by ONNX Runtime's `docs/ContribOperators.md`."""

from __future__ import annotations

from typing import Any

import numpy as np

from polycmp_onnx.operators import text
from polycmp_onnx.operators.microsoft import Microsoft, as_factor, dynamic_product


class DynamicQuantizeLSTM(Microsoft):
    """LSTM with quantised weights; what is multiplied with them is quantised to eight bits on the way.

    A whole batch is quantised together, as ONNX Runtime does in one thread; in several it quantises its rows apart.
    """

    def _run(
        self,
        x: Any,
        w: Any,
        r: Any,
        bias: Any = None,
        lengths: Any = None,
        h: Any = None,
        c: Any = None,
        peephole: Any = None,
        *scales: Any,
        **_: Any,
    ) -> tuple[Any, ...]:
        self._refuse(x, lengths, peephole)
        names = {"forward": "f", "reverse": "r", "bidirectional": "fr"}
        ways = names[text(self.attribute("direction", "forward"))]
        zero = np.zeros((len(ways), x.shape[1], r.shape[1]), x.dtype)
        gates = zero.shape[2] * 4
        directions = []
        for way, name in enumerate(ways):
            both = np.zeros(gates, x.dtype) if bias is None else bias[way, :gates] + bias[way, gates:]
            start = (zero if h is None else h)[way], (zero if c is None else c)[way]
            sequence = x[::-1] if name == "r" else x
            of_w = (w[way], scales[0][way], scales[1][way])
            every, last, cell = _lstm(sequence, of_w, (r[way], scales[2][way], scales[3][way]), both, start)
            directions.append((every[::-1] if name == "r" else every, last, cell))
        sequences, hidden, cells = zip(*directions, strict=True)
        outputs = (np.stack(sequences, 1), np.stack(hidden), np.stack(cells))
        return outputs[: len(self.onnx_node.output)]

    def _refuse(self, x: Any, lengths: Any, peephole: Any) -> None:
        if lengths is not None and (np.asarray(lengths) != x.shape[0]).any():
            raise NotImplementedError("sequence_lens shorter than the input")
        if peephole is not None or self.attribute("clip", 0) or self.attribute("input_forget", 0):
            raise NotImplementedError("peepholes, clip and input_forget")
        functions = [text(name) for name in self.attribute("activations", [])]
        if any(name != ("Sigmoid", "Tanh", "Tanh")[index % 3] for index, name in enumerate(functions)):
            raise NotImplementedError(f"activations {functions}")


def _lstm(x: Any, w: Any, r: Any, bias: Any, start: tuple[Any, Any]) -> tuple[Any, Any, Any]:
    """Return all hidden states, the last one, and the last cell; the gates are input, output, forget, cell."""
    hidden, cell = start
    w, r = ((as_factor(codes, zero), scale) for codes, scale, zero in (w, r))  # once, and not in each step
    length, batch, width = x.shape
    inner = dynamic_product(x.reshape(-1, width), *w).reshape(length, batch, -1) + bias
    every = []
    for step in inner:
        parts = np.split(step + dynamic_product(hidden, *r), 4, axis=-1)
        into, out, forget = (1 / (1 + np.exp(-part)) for part in parts[:3])
        cell = forget * cell + into * np.tanh(parts[3])
        hidden = out * np.tanh(cell)
        every.append(hidden)
    return np.stack(every).astype(x.dtype), hidden.astype(x.dtype), cell.astype(x.dtype)


OPERATORS: dict[str, type[Any]] = {cls.__name__: cls for cls in (DynamicQuantizeLSTM,)}
