"""PaddlePaddle, whose networks paddle2onnx converts."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import paddle
import paddle2onnx
from paddle import nn
from paddle.nn import functional

from truth.converters.frameworks import Array, Export, Exportable, Framework, rows, words


class _Of(nn.Layer):  # type: ignore[misc]
    """A layer whose forward is a function of its parts and the input."""

    def __init__(self, run: Callable[..., Any], **parts: nn.Layer) -> None:
        super().__init__()
        self.parts = nn.LayerDict(parts)
        self.run = run

    def forward(self, given: Any) -> Any:  # paddle.jit.save takes no forward with a star
        return self.run(self.parts, given)


def _made(run: Callable[..., Any], parts: dict[str, nn.Layer], **inputs: Array) -> Exportable:
    paddle.seed(0)
    layer = _Of(run, **parts)
    for name, value in (*layer.named_parameters(), *layer.named_buffers()):
        if len(value.shape) > 1:
            size = float(value.size / value.shape[0])
            value.set_value(paddle.randn(value.shape) * size**-0.5)
        elif name.endswith(("_variance", "weight")):
            value.set_value(paddle.rand(value.shape) + 0.5)
        elif value.dtype == paddle.float32:
            value.set_value(paddle.randn(value.shape) * 0.3)
    layer.eval()
    made = layer(*(paddle.to_tensor(array) for array in inputs.values()))
    outputs = [item.numpy() for item in (made if isinstance(made, list | tuple) else (made,))]
    return Exportable(layer, inputs, outputs, {name: {0: "batch"} for name in inputs})


def _residual() -> Exportable:
    """Convolutions with normalisation and ReLU, joined by a sum."""

    def run(parts: Any, image: Any) -> Any:
        x = functional.relu(parts["norm"](parts["stem"](image)))
        x = functional.max_pool2d(x + functional.relu(parts["a"](x)), 2)
        return functional.softmax(parts["head"](functional.adaptive_avg_pool2d(x, 1).flatten(1)))

    parts = {"stem": nn.Conv2D(3, 8, 3, padding=1), "norm": nn.BatchNorm2D(8), "a": nn.Conv2D(8, 8, 3, padding=1),
             "head": nn.Linear(8, 5)}  # fmt: skip
    return _made(run, parts, image=rows(2, 3, 16, 16))


def _mobile() -> Exportable:
    """Depthwise convolutions with Hardswish and a squeezed gate, as PP-LCNet has them."""

    def run(parts: Any, image: Any) -> Any:
        x = functional.hardswish(parts["norm"](parts["deep"](functional.hardswish(parts["stem"](image)))))
        gate = functional.hardsigmoid(parts["up"](functional.relu(parts["down"](functional.adaptive_avg_pool2d(x, 1)))))
        return parts["point"](x * gate)

    parts = {"stem": nn.Conv2D(3, 8, 3, stride=2, padding=1), "deep": nn.Conv2D(8, 8, 3, padding=1, groups=8),
             "norm": nn.BatchNorm2D(8), "down": nn.Conv2D(8, 4, 1), "up": nn.Conv2D(4, 8, 1),
             "point": nn.Conv2D(8, 6, 1)}  # fmt: skip
    return _made(run, parts, image=rows(2, 3, 16, 16))


def _attention() -> Exportable:
    """Embedded words, attention, normalisation and GELU."""

    def run(parts: Any, tokens: Any) -> Any:
        x = parts["words"](tokens)
        q, k, v = (parts[name](x).reshape([0, 0, 2, 8]).transpose([0, 2, 1, 3]) for name in "qkv")
        seen = functional.softmax(paddle.matmul(q, k, transpose_y=True) * 8**-0.5) @ v
        x = parts["norm"](x + seen.transpose([0, 2, 1, 3]).reshape([0, 0, 16]))
        return x + parts["down"](functional.gelu(parts["up"](x)))

    parts: dict[str, nn.Layer] = {name: nn.Linear(16, 16) for name in "qkv"}
    parts |= {
        "words": nn.Embedding(50, 16),
        "norm": nn.LayerNorm(16),
        "up": nn.Linear(16, 32),
        "down": nn.Linear(32, 16),
    }
    return _made(run, parts, tokens=words(2, 9, below=50))


def _recurrent() -> Exportable:
    """An LSTM in both directions and a head, as recognisers of text have them."""
    run = lambda parts, x: functional.log_softmax(parts["head"](parts["layer"](x)[0]))  # noqa: E731
    parts = {"layer": nn.LSTM(6, 10, direction="bidirect"), "head": nn.Linear(20, 4)}
    return _made(run, parts, x=rows(2, 12, 6))


def _upsampling() -> Exportable:
    """A transposed convolution and both kinds of resizing, as detectors of text have them."""

    def run(parts: Any, image: Any) -> tuple[Any, Any]:
        x = functional.relu(parts["a"](image))
        large = functional.interpolate(x, scale_factor=2, mode="nearest")
        up = functional.relu(parts["up"](x)) + large
        return functional.sigmoid(parts["b"](up)), functional.interpolate(up, scale_factor=2, mode="bilinear")

    parts = {"a": nn.Conv2D(3, 8, 3, padding=1), "up": nn.Conv2DTranspose(8, 8, 2, stride=2), "b": nn.Conv2D(8, 1, 3)}
    return _made(run, parts, image=rows(1, 3, 8, 8))


def _export(made: Exportable, target: Path, opset: int) -> None:
    from paddle.static import InputSpec

    specs = [InputSpec([None, *array.shape[1:]], str(array.dtype), name) for name, array in made.inputs.items()]
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "net"
        paddle.jit.save(made.network, str(saved), input_spec=specs)
        program = next(saved.with_suffix(end) for end in (".json", ".pdmodel") if saved.with_suffix(end).exists())
        paddle2onnx.export(str(program), str(saved.with_suffix(".pdiparams")), str(target), opset_version=opset)


_EXPORTERS: dict[str, Export] = {
    "paddle2onnx, opset 17": partial(_export, opset=17),
    "paddle2onnx, opset 13": partial(_export, opset=13),
}
FRAMEWORK = Framework(
    networks={
        "residual": _residual,
        "mobile": _mobile,
        "attention": _attention,
        "lstm": _recurrent,
        "upsampling": _upsampling,
    },
    exporters=_EXPORTERS,
    packages=("paddlepaddle", "paddle2onnx"),
)
