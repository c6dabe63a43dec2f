"""Attention and embedding of the domain com.microsoft, by ONNX Runtime's `docs/ContribOperators.md`."""

from __future__ import annotations

from typing import Any

import numpy as np

from polycmp_onnx.operators.microsoft import Microsoft, centred, normalised
from polycmp_onnx.operators.microsoft_quantised import real


class _Attending(Microsoft):
    """Common parts of attention operators; queries, keys and values are [batch, heads, length, size]."""

    def attended(self, query: Any, key: Any, value: Any, bias: Any) -> Any:
        """Return softmax(scale query key^T + bias) value as [batch, length, heads * size]."""
        scale = self.attribute("scale", 0.0) or query.shape[-1] ** -0.5
        scores = np.matmul(query, key.swapaxes(-1, -2)) * query.dtype.type(scale)
        return _side_by_side(np.matmul(softmax(scores + bias), value)).astype(query.dtype)

    def bias_of(self, mask: Any, shape: tuple[int, int, int], dtype: Any) -> Any:
        """Convert a mask into a bias of the scores.

        Args:
            mask: Truth values as whole numbers, [batch, total] or [batch, length, total]; the sequences' lengths
                [batch], or their ends and then their starts [2 * batch]; None.
            shape: Batch, length of the queries and total length of the keys.
            dtype: Type of the scores.

        Raises:
            NotImplementedError: A mask of another form.
        """
        _, length, total = shape
        bias = np.where(_seen(mask, shape), dtype.type(0), dtype.type(self.attribute("mask_filter_value", -10000.0)))
        if self.attribute("unidirectional", 0):
            before = np.tril(np.ones((length, total), bool), total - length)
            bias = bias + np.where(before, dtype.type(0), np.finfo(dtype).min / 2)
        return bias

    def outputs(self) -> int:
        """Count the requested outputs."""
        return max((place + 1 for place, name in enumerate(self.onnx_node.output) if name), default=1)


def heads_of(array: Any, heads: int) -> Any:
    """Return [batch, length, heads * size] as [batch, heads, length, size]."""
    return array.reshape(*array.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def _side_by_side(mixed: Any) -> Any:
    """Return [batch, heads, length, size] as [batch, length, heads * size]."""
    return mixed.transpose(0, 2, 1, 3).reshape(mixed.shape[0], mixed.shape[2], -1)


def softmax(scores: Any, more: Any = None) -> Any:
    """Return the softmax along the last axis.

    Args:
        scores: Any shape.
        more: A score that takes part in the sum alone, broadcast to one per row; None for none.
    """
    largest = scores.max(axis=-1, keepdims=True)
    largest = largest if more is None else np.maximum(largest, more)
    raised = np.exp(scores - largest)
    total = raised.sum(axis=-1, keepdims=True)
    return raised / (total if more is None else total + np.exp(more - largest))


def _seen(mask: Any, shape: tuple[int, int, int]) -> Any:
    """Return the mask of keys that are not padding, which broadcasts to [batch, heads, length, total]."""
    batch, length, total = shape
    if mask is None:
        return np.ones((batch, 1, 1, total), bool)
    places = np.arange(total)
    if mask.shape == (batch,):
        return places < mask.reshape(-1, 1, 1, 1)
    if mask.shape == (2 * batch,):
        ends, starts = mask.reshape(2, -1, 1, 1, 1)
        return (places < ends) & (places >= starts)
    if mask.shape == (batch, total):
        return mask.reshape(batch, 1, 1, total) != 0
    if mask.shape == (batch, length, total):
        return mask.reshape(batch, 1, length, total) != 0
    raise NotImplementedError(f"a mask of shape {list(mask.shape)}")


class Attention(_Attending):
    """Self-attention of several heads; one product gives query, key and value."""

    def _run(
        self, x: Any, weight: Any, bias: Any = None, mask: Any = None, past: Any = None, added: Any = None, **_: Any
    ) -> tuple[Any, ...]:
        product = np.matmul(x, weight)
        return self.of_product(product if bias is None else product + bias, mask, past, added)

    def of_product(self, product: Any, mask: Any, past: Any, added: Any = None) -> tuple[Any, ...]:
        """Return the attention of query, key and value that stand side by side, and the keys and values.

        Args:
            product: Of shape [batch, length, width of query + width of key + width of value].
            mask: As `bias_of` takes it.
            past: Keys and values [2, batch, heads, length before, size]; None if there are none.
            added: Bias added to the scores; None for none.

        Raises:
            NotImplementedError: A rotation, or buffers that are shared.
        """
        if self.attribute("do_rotary", 0) or self.attribute("past_present_share_buffer", 0):
            raise NotImplementedError("do_rotary and past_present_share_buffer")
        heads = int(self.num_heads)
        width = product.shape[2] // 3
        sizes = self.attribute("qkv_hidden_sizes", None) or [width] * 3
        query, key, value = (heads_of(part, heads) for part in np.split(product, np.cumsum(sizes)[:2], axis=-1))
        if past is not None:
            key, value = (np.concatenate(pair, axis=2) for pair in ((past[0], key), (past[1], value)))
        bias = self.bias_of(mask, (len(query), query.shape[2], key.shape[2]), product.dtype)
        result = self.attended(query, key, value, bias if added is None else bias + added)
        return (result,) if self.outputs() < 2 else (result, np.stack([key, value]).astype(product.dtype))


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
    ) -> tuple[Any, ...]:
        product = np.matmul(centred(x, x_zero), centred(weight, weight_zero))
        return self.of_product(product.astype(bias.dtype) * (x_scale * weight_scale) + bias, mask, past)


class MultiHeadAttention(_Attending):
    """Attention of queries, keys and values that were multiplied before, apart or packed."""

    def _run(
        self,
        query: Any,
        key: Any = None,
        value: Any = None,
        bias: Any = None,
        mask: Any = None,
        added: Any = None,
        past_key: Any = None,
        past_value: Any = None,
        past_length: Any = None,
        indirection: Any = None,
        **_: Any,
    ) -> tuple[Any, ...]:
        if past_length is not None or indirection is not None or self.outputs() > 3:
            raise NotImplementedError("shared buffers, cache_indirection and the output qk")
        queries, keys, values = self._split(query, key, value, bias)
        if past_key is not None:
            keys, values = np.concatenate((past_key, keys), axis=2), np.concatenate((past_value, values), axis=2)
        shape = len(queries), queries.shape[2], keys.shape[2]
        total = self.bias_of(_padded_mask(mask, shape), shape, queries.dtype)
        result = self.attended(queries, keys, values, total if added is None else total + added)
        return (result, keys, values)[: self.outputs()]

    def _split(self, query: Any, key: Any, value: Any, bias: Any) -> list[Any]:
        """Return queries, keys and values as [batch, heads, length, size], biases added."""
        heads = int(self.num_heads)
        if query.ndim == 5:
            parts = [query[:, :, :, place].transpose(0, 2, 1, 3) for place in range(3)]
        elif key.ndim == 5:
            parts = [heads_of(query, heads), *(key[:, :, :, place].transpose(0, 2, 1, 3) for place in range(2))]
        else:
            parts = [part if part.ndim == 4 else heads_of(part, heads) for part in (query, key, value)]
        if bias is None:
            return parts
        widths = np.cumsum([part.shape[1] * part.shape[3] for part in parts])[:2]
        ready = [False, key is not None and key.ndim == 4, value is not None and value.ndim == 4]
        return [
            part if done else part + part_bias.reshape(1, heads, 1, -1)
            for part, part_bias, done in zip(parts, np.split(bias, widths), ready, strict=True)
        ]


def _padded_mask(mask: Any, shape: tuple[int, int, int]) -> Any:
    """Return a mask of the new keys alone with those before it, none of which is padding."""
    batch, _, total = shape
    if mask is None or mask.ndim != 2 or mask.shape[1] == total:
        return mask
    return np.concatenate((np.ones((batch, total - mask.shape[1]), mask.dtype), mask), axis=1)


class GroupQueryAttention(_Attending):
    """Causal attention of which several heads share keys and values, with a cache and rotated positions."""

    def _run(
        self,
        query: Any,
        key: Any = None,
        value: Any = None,
        past_key: Any = None,
        past_value: Any = None,
        lengths: Any = None,
        total: Any = None,
        cosines: Any = None,
        sines: Any = None,
        positions: Any = None,
        added: Any = None,
        sink: Any = None,
        *more: Any,
        **_: Any,
    ) -> tuple[Any, ...]:
        self._refuse(more)
        heads, groups = int(self.num_heads), int(self.kv_num_heads)
        if key is None:
            size = query.shape[-1] // (heads + 2 * groups)
            query, key, value = np.split(query, [heads * size, (heads + groups) * size], axis=-1)
        queries, keys, values = (
            heads_of(part, count) for part, count in ((query, heads), (key, groups), (value, groups))
        )
        count = queries.shape[2]
        ends = np.asarray(lengths).reshape(-1).astype(np.int64) + 1
        is_prompt = count == int(np.asarray(total).reshape(-1)[0])
        starts = np.zeros_like(ends) if is_prompt else ends - count
        if self.attribute("do_rotary", 0):
            places = starts[:, None] + np.arange(count) if positions is None else np.asarray(positions)
            turned = int(cosines.shape[1]) * 2
            queries, keys = (
                rotated(part, cosines[places], sines[places], turned, bool(self.attribute("rotary_interleaved", 0)))
                for part in (queries, keys)
            )
        length = max(int(np.asarray(total).reshape(-1)[0]), 0 if past_key is None else past_key.shape[2])
        present = [_extended(past, new, starts, length) for past, new in ((past_key, keys), (past_value, values))]
        result = self._attend(queries, present, starts, ends, added, sink)
        return (result, *present)[: self.outputs()]

    def _refuse(self, more: tuple[Any, ...]) -> None:
        kinds = {str(self.attribute(f"{name}_quant_type", "NONE")).strip("b'") for name in "kv"}
        if any(item is not None for item in more) or kinds - {"NONE"}:
            raise NotImplementedError("a quantised cache and q_norm_weight")
        if self.attribute("sliding_window_cache", 0) or self.outputs() > 3:
            raise NotImplementedError("sliding_window_cache and output_qk")

    def _attend(self, queries: Any, present: list[Any], starts: Any, ends: Any, added: Any, sink: Any) -> Any:
        dtype, (_, heads, count, size) = queries.dtype, queries.shape
        keys, values = (np.repeat(part, heads // part.shape[1], axis=1) for part in present)
        scores = np.matmul(queries, keys.swapaxes(-1, -2)) * dtype.type(self.attribute("scale", 0.0) or size**-0.5)
        cap = float(self.attribute("softcap", 0.0))
        if cap:
            scores = dtype.type(cap) * np.tanh(scores / dtype.type(cap))
        if added is not None:
            scores = scores + _widened(added, scores.shape[-1])
        place, at = np.arange(scores.shape[-1]), (starts[:, None] + np.arange(count))[:, :, None]
        seen = place < ends[:, None, None]
        if self.attribute("causal", 1):
            seen = seen & (place <= at)
        window = int(self.attribute("local_window_size", -1))
        if window > 0:
            seen = seen & (place > at - window)
        scores = np.where(seen[:, None], scores, np.finfo(dtype).min)
        smooth = dtype.type(0) if self.attribute("smooth_softmax", -1) == 1 else None
        extra = smooth if sink is None else np.asarray(sink, dtype).reshape(1, -1, 1, 1)
        return _side_by_side(np.matmul(softmax(scores, extra), values)).astype(dtype)


def _widened(added: Any, length: int) -> Any:
    """Pad the bias of scores with zeros at the end, where the cache is longer."""
    missing = length - added.shape[-1]
    return np.pad(added, [(0, 0)] * (added.ndim - 1) + [(0, missing)]) if missing > 0 else added


def _extended(past: Any, new: Any, starts: Any, length: int) -> Any:
    """Return a cache [batch, heads, length, size] with new keys or values from each row's own start on."""
    batch, heads, count, size = new.shape
    extended = np.zeros((batch, heads, length, size), new.dtype)
    for row, start in enumerate(starts):
        if past is not None and start > 0:
            extended[row, :, :start] = past[row, :, :start]
        extended[row, :, start : start + count] = new[row][:, : length - start]
    return extended


def rotated(array: Any, cosines: Any, sines: Any, turned: int, interleaved: bool) -> Any:
    """Return heads with their first numbers turned in pairs, by the angle of each place.

    Args:
        array: Of shape [batch, heads, length, size].
        cosines: Of the angles, [batch, length, pairs].
        sines: Of the angles, likewise.
        turned: Number of leading entries of a head that are turned.
        interleaved: Whether pairs stand side by side; else the first half is paired with the second.
    """
    part, rest = array[..., :turned], array[..., turned:]
    cosine, sine = cosines[:, None], sines[:, None]
    if interleaved:
        one, two = part[..., ::2], part[..., 1::2]
        both = np.stack([one * cosine - two * sine, one * sine + two * cosine], axis=-1).reshape(part.shape)
    else:
        one, two = np.split(part, 2, axis=-1)
        both = np.concatenate([one * cosine - two * sine, one * sine + two * cosine], axis=-1)
    return np.concatenate([both, rest], axis=-1).astype(array.dtype)


class RotaryEmbedding(Microsoft):
    """Positions as rotations of pairs of numbers."""

    def _run(self, x: Any, positions: Any, cosines: Any, sines: Any, **_: Any) -> tuple[Any]:
        if self.attribute("is_packed_batching", 0) or self.attribute("scale", 1.0) != 1.0:
            raise NotImplementedError("is_packed_batching and scale")
        turned = 2 * int(cosines.shape[1])
        heads = int(self.attribute("num_heads", 0)) or (x.shape[-1] // turned if x.ndim == 3 else x.shape[1])
        array = x if x.ndim == 4 else heads_of(x, heads)
        places = np.asarray(positions)
        if places.ndim == 1:
            places = np.broadcast_to(places + np.arange(array.shape[2]), (len(array), array.shape[2]))
        interleaved = bool(self.attribute("interleaved", 0))
        result = rotated(array, cosines[places], sines[places], turned, interleaved)
        return (result if x.ndim == 4 else np.ascontiguousarray(result.transpose(0, 2, 1, 3)).reshape(x.shape),)


class EmbedLayerNormalization(Microsoft):
    """Sum of the embeddings of words, places and segments, layer-normalised; and how long each sequence is."""

    def _run(
        self,
        words: Any,
        segments: Any,
        of_words: Any,
        of_places: Any,
        of_segments: Any,
        gamma: Any,
        beta: Any,
        mask: Any = None,
        places: Any = None,
        **_: Any,
    ) -> tuple[Any, ...]:
        places = np.arange(words.shape[1])[None] if places is None else places
        total = of_words[words] + of_places[places]
        if segments is not None and of_segments is not None:
            total = total + of_segments[segments]
        result = normalised(total, gamma, beta, self.attribute("epsilon", 1e-12))
        lengths = np.zeros(len(words), np.int32) if mask is None else (mask == 1).sum(axis=1).astype(np.int32)
        return (result.astype(of_words.dtype), lengths, total)[: len(self.onnx_node.output)]


class QEmbedLayerNormalization(EmbedLayerNormalization):
    """EmbedLayerNormalization whose tables, scale and shift are quantised."""

    def _run(  # type: ignore[override]
        self,
        words: Any,
        segments: Any,
        of_words: Any,
        of_places: Any,
        of_segments: Any,
        gamma: Any,
        beta: Any,
        mask: Any,
        *steps: Any,
        **_: Any,
    ) -> tuple[Any, ...]:
        codes = (of_words, of_places, of_segments, gamma, beta)
        tables = [
            None if code is None else real(code, scale, zero)
            for code, scale, zero in zip(codes, steps[:5], steps[5:10], strict=True)
        ]
        word, place, segment, scale, shift = tables
        return super()._run(words, segments, word, place, segment, scale, shift, mask)


OPERATORS: dict[str, type[Any]] = {
    cls.__name__: cls
    for cls in (
        Attention,
        EmbedLayerNormalization,
        GroupQueryAttention,
        MultiHeadAttention,
        QAttention,
        QEmbedLayerNormalization,
        RotaryEmbedding,
    )
}
