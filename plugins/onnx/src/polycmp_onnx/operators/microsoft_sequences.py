"""Attention and quantised LSTM of the domain com.microsoft, by ONNX Runtime's `docs/ContribOperators.md`."""

from __future__ import annotations

from typing import Any

import numpy as np

from polycmp_onnx.operators.microsoft import Microsoft, centred, dynamic_product


class Attention(Microsoft):
    """Self-attention of several heads; one product gives query, key and value."""

    def _run(
        self, x: Any, weight: Any, bias: Any = None, mask: Any = None, past: Any = None, added: Any = None, **_: Any
    ) -> tuple[Any]:
        if past is not None or added is not None or len([name for name in self.onnx_node.output if name]) > 1:
            raise NotImplementedError("past, present and attention_bias")
        if self.attribute("qkv_hidden_sizes", None) or self.attribute("do_rotary", 0):
            raise NotImplementedError("qkv_hidden_sizes and do_rotary")
        product = np.matmul(x, weight)
        return (self.attended(product if bias is None else product + bias, mask).astype(x.dtype),)

    def attended(self, product: Any, mask: Any) -> Any:
        """Return the attention of query, key and value that stand side by side.

        Args:
            product: Of shape [batch, length, 3 * width].
            mask: Truth values [batch, length] as whole numbers, the sequences' lengths [batch], or None.

        Raises:
            NotImplementedError: A mask of another form.
        """
        batch, length, width = product.shape[0], product.shape[1], product.shape[2] // 3
        heads = int(self.num_heads)
        query, key, value = (
            part.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3)
            for part in np.split(product, 3, axis=-1)
        )
        scale = self.attribute("scale", 0.0) or (width // heads) ** -0.5
        scores = np.matmul(query, key.swapaxes(-1, -2)) * product.dtype.type(scale)
        scores = scores + self._bias(mask, batch, length, product.dtype)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = scores / scores.sum(axis=-1, keepdims=True)
        return np.matmul(weights, value).transpose(0, 2, 1, 3).reshape(batch, length, width)

    def _bias(self, mask: Any, batch: int, length: int, dtype: Any) -> Any:
        seen = np.ones((batch, 1, 1, length), bool)
        if mask is not None:
            if mask.shape == (batch,):
                seen = np.arange(length) < mask.reshape(-1, 1, 1, 1)
            elif mask.shape == (batch, length):
                seen = mask.reshape(batch, 1, 1, length) != 0
            else:
                raise NotImplementedError(f"a mask of shape {list(mask.shape)}")
        low = dtype.type(self.attribute("mask_filter_value", -10000.0))
        bias = np.where(seen, dtype.type(0), low)
        if self.attribute("unidirectional", 0):
            bias = bias + np.where(np.tril(np.ones((length, length), bool)), dtype.type(0), np.finfo(dtype).min / 2)
        return bias


class QAttention(Attention):
    """Attention whose input and weight are quantised; the product is scaled back before the bias is added."""

    def _run(  # type: ignore[override]
        self,
        x: Any,
        weight: Any,
        bias: Any,
        x_scale: Any,
        weight_scale: Any,
        mask: Any = None,
        x_zero: Any = None,
        weight_zero: Any = None,
        past: Any = None,
        **_: Any,
    ) -> tuple[Any]:
        if past is not None or len([name for name in self.onnx_node.output if name]) > 1:
            raise NotImplementedError("past and present")
        product = np.matmul(centred(x, x_zero), centred(weight, weight_zero))
        return (self.attended(product.astype(bias.dtype) * (x_scale * weight_scale) + bias, mask),)


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
        ways = names[_text(self.attribute("direction", "forward"))]
        zero = np.zeros((len(ways), x.shape[1], r.shape[1]), x.dtype)
        gates = zero.shape[2] * 4
        made = []
        for way, name in enumerate(ways):
            both = np.zeros(gates, x.dtype) if bias is None else bias[way, :gates] + bias[way, gates:]
            start = (zero if h is None else h)[way], (zero if c is None else c)[way]
            sequence = x[::-1] if name == "r" else x
            of_w = (w[way], scales[0][way], scales[1][way])
            every, last, cell = _lstm(sequence, of_w, (r[way], scales[2][way], scales[3][way]), both, start)
            made.append((every[::-1] if name == "r" else every, last, cell))
        outputs = (np.stack([item[0] for item in made], 1), *(np.stack([item[i] for item in made]) for i in (1, 2)))
        return outputs[: len(self.onnx_node.output)]

    def _refuse(self, x: Any, lengths: Any, peephole: Any) -> None:
        if lengths is not None and (np.asarray(lengths) != x.shape[0]).any():
            raise NotImplementedError("sequence_lens shorter than the input")
        if peephole is not None or self.attribute("clip", 0) or self.attribute("input_forget", 0):
            raise NotImplementedError("peepholes, clip and input_forget")
        functions = [_text(name) for name in self.attribute("activations", [])]
        if any(name != ("Sigmoid", "Tanh", "Tanh")[index % 3] for index, name in enumerate(functions)):
            raise NotImplementedError(f"activations {functions}")


def _lstm(x: Any, w: Any, r: Any, bias: Any, start: tuple[Any, Any]) -> tuple[Any, Any, Any]:
    """Return all hidden states, the last one, and the last cell; the gates are input, output, forget, cell."""
    hidden, cell = start
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


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


OPERATORS: dict[str, type[Any]] = {cls.__name__: cls for cls in (Attention, DynamicQuantizeLSTM, QAttention)}
