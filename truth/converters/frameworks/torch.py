"""PyTorch: both exporters, with and without dynamic shapes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from truth.converters.frameworks import Array, Export, Exportable, Framework, rows, words

_FREE = {0: "batch"}


class _Of(nn.Module):  # type: ignore[misc]
    """A module whose forward is a function of its parts and the inputs."""

    def __init__(self, run: Callable[..., Any], **parts: nn.Module) -> None:
        super().__init__()
        self.parts = nn.ModuleDict(parts)
        self.run = run

    def forward(self, *inputs: Tensor) -> Any:
        return self.run(self.parts, *inputs)


def _made(module: nn.Module, free: dict[str, dict[int, str]], **inputs: Array) -> Exportable:
    """Return a module with weights that keep magnitudes, and other statistics of normalisations than a new one's."""
    torch.manual_seed(0)
    with torch.no_grad():
        for name, value in (*module.named_parameters(), *module.named_buffers()):
            if value.ndim > 1:
                value.normal_(std=value[0].numel() ** -0.5)
            elif name.endswith("running_var") or (name.endswith("weight") and value.is_floating_point()):
                value.uniform_(0.5, 1.5)
            elif value.is_floating_point():
                value.normal_(std=0.3)
    module.eval()
    with torch.no_grad():
        made = module(*(torch.from_numpy(array) for array in inputs.values()))
    outputs = [item.numpy() for item in (made if isinstance(made, tuple) else (made,))]
    return Exportable(module, inputs, outputs, free)


def _residual() -> Exportable:
    """Convolutions with normalisation and ReLU, joined by a sum; adaptive pooling; a head."""

    def block() -> nn.Module:
        return nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())

    def run(parts: Any, image: Tensor) -> Tensor:
        x = functional.relu(parts["stem"](image))
        x = x + parts["a"](x)
        x = functional.max_pool2d(x + parts["b"](x), 2)
        return parts["head"](functional.adaptive_avg_pool2d(x, 1).flatten(1))

    parts = {"stem": nn.Conv2d(3, 8, 3, padding=1), "a": block(), "b": block(), "head": nn.Linear(8, 5)}
    return _made(_Of(run, **parts), {"image": _FREE}, image=rows(2, 3, 16, 16))


def _mobile() -> Exportable:
    """Depthwise and pointwise convolutions with Hardswish and a squeezed gate."""

    def run(parts: Any, image: Tensor) -> Tensor:
        x = functional.hardswish(parts["stem"](image))
        x = functional.relu6(parts["norm"](parts["deep"](x)))
        gate = functional.hardsigmoid(parts["up"](functional.silu(parts["down"](x.mean((2, 3), keepdim=True)))))
        return parts["point"](x * gate)

    parts = {
        "stem": nn.Conv2d(3, 8, 3, stride=2, padding=1), "deep": nn.Conv2d(8, 8, 3, padding=1, groups=8),
        "norm": nn.BatchNorm2d(8), "down": nn.Conv2d(8, 4, 1), "up": nn.Conv2d(4, 8, 1), "point": nn.Conv2d(8, 6, 1),
    }  # fmt: skip
    free = {"image": {0: "batch", 2: "height", 3: "width"}}
    return _made(_Of(run, **parts), free, image=rows(2, 3, 16, 16))


def _encoder() -> Exportable:
    """Two layers of a transformer's encoder with a mask of padding."""

    def run(parts: Any, tokens: Tensor, keep: Tensor) -> Tensor:
        x = parts["words"](tokens) + parts["places"](torch.arange(tokens.shape[1]))
        mask = (1.0 - keep[:, None, None, :].to(x.dtype)) * -10000.0
        for name in ("a", "b"):
            q, k, v = parts[f"{name}_in"](x).unflatten(-1, (3, 4, 8)).permute(2, 0, 3, 1, 4)
            seen = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            x = parts[f"{name}_norm"](x + parts[f"{name}_out"](seen.transpose(1, 2).flatten(2)))
            x = x + parts[f"{name}_down"](functional.gelu(parts[f"{name}_up"](x)))
        return x

    parts: dict[str, nn.Module] = {"words": nn.Embedding(50, 32), "places": nn.Embedding(16, 32)}
    for name in ("a", "b"):
        parts |= {f"{name}_in": nn.Linear(32, 96), f"{name}_out": nn.Linear(32, 32), f"{name}_norm": nn.LayerNorm(32),
                  f"{name}_up": nn.Linear(32, 64), f"{name}_down": nn.Linear(64, 32)}  # fmt: skip
    keep = words(2, 10, below=2) | (words(2, 10, below=10) < 7)
    free = {name: {0: "batch", 1: "length"} for name in ("tokens", "keep")}
    return _made(_Of(run, **parts), free, tokens=words(2, 10, below=50), keep=keep.astype("int64"))


def _decoder() -> Exportable:
    """Causal attention with rotary positions and root-mean-square normalisation."""

    def run(parts: Any, x: Tensor) -> Tensor:
        length = x.shape[1]
        angle = torch.arange(length, dtype=x.dtype)[:, None] / 100.0 ** (torch.arange(4, dtype=x.dtype) / 4)
        cos, sin = angle.cos(), angle.sin()

        def turned(part: Tensor) -> Tensor:
            a, b = part.chunk(2, -1)
            return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

        normal = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        q, k, v = (parts[name](normal).unflatten(-1, (4, 8)).transpose(1, 2) for name in "qkv")
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = (turned(q) @ turned(k).transpose(-1, -2) / 8**0.5).masked_fill(later, float("-inf")).softmax(-1)
        x = x + parts["out"]((weights @ v).transpose(1, 2).flatten(2))
        return parts["head"](functional.silu(parts["gate"](x)) * parts["up"](x))

    sizes = {
        "q": (32, 32),
        "k": (32, 32),
        "v": (32, 32),
        "out": (32, 32),
        "gate": (32, 48),
        "up": (32, 48),
        "head": (48, 20),
    }
    parts = {name: nn.Linear(*size, bias=name == "head") for name, size in sizes.items()}
    return _made(_Of(run, **parts), {"x": {0: "batch", 1: "length"}}, x=rows(2, 9, 32))


def _recurrent(kind: type[nn.Module]) -> Exportable:
    """A recurrent layer in both directions, and a head on all steps."""

    def run(parts: Any, sound: Tensor) -> tuple[Tensor, Tensor]:
        steps, state = parts["layer"](sound)
        last = state[0] if isinstance(state, tuple) else state
        return parts["head"](steps), last

    layer = kind(6, 10, batch_first=True, bidirectional=True)
    return _made(_Of(run, layer=layer, head=nn.Linear(20, 4)), {"sound": _FREE}, sound=rows(2, 12, 6))


def _upsampling() -> Exportable:
    """Group normalisation, a transposed convolution, bilinear resizing and reflected borders."""

    def run(parts: Any, image: Tensor) -> Tensor:
        x = functional.gelu(parts["norm"](parts["a"](image)))
        x = functional.leaky_relu(parts["up"](x))
        x = functional.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)
        return torch.tanh(parts["b"](functional.pad(x, (1, 1, 1, 1), mode="reflect")))

    parts = {
        "a": nn.Conv2d(3, 8, 3, padding=1), "norm": nn.GroupNorm(2, 8), "up": nn.ConvTranspose2d(8, 8, 2, stride=2),
        "b": nn.Conv2d(8, 3, 3),
    }  # fmt: skip
    return _made(_Of(run, **parts), {"image": _FREE}, image=rows(1, 3, 8, 8))


def _chosen() -> Exportable:
    """Scores of boxes, the best of them, and what is gathered for these: outputs of whole numbers, too."""

    def run(parts: Any, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden = functional.relu(parts["hidden"](x))
        scores = parts["scores"](hidden).squeeze(-1)
        best, places = scores.topk(4, dim=1)
        boxes = parts["boxes"](hidden).gather(1, places[..., None].expand(-1, -1, 4))
        corners = torch.stack([boxes[..., 0], boxes[..., 1], boxes[..., :2].sum(-1), boxes[..., 2:].amax(-1)], -1)
        return torch.where(best[..., None] > 0, corners, torch.zeros_like(corners)), best.sigmoid(), places

    parts = {"hidden": nn.Linear(8, 16), "scores": nn.Linear(16, 1), "boxes": nn.Linear(16, 4)}
    return _made(_Of(run, **parts), {"x": _FREE}, x=rows(2, 12, 8))


def _waves() -> Exportable:
    """Strided convolutions over a wave with the sums and cumulative sums of frames."""

    def run(parts: Any, wave: Tensor) -> Tensor:
        x = functional.elu(parts["a"](wave))
        x = functional.softplus(parts["b"](x))
        return parts["head"]((x.cumsum(-1) / torch.arange(1, x.shape[-1] + 1)).transpose(1, 2))

    parts = {"a": nn.Conv1d(1, 8, 10, stride=5), "b": nn.Conv1d(8, 8, 3, stride=2), "head": nn.Linear(8, 3)}
    return _made(_Of(run, **parts), {"wave": _FREE}, wave=rows(2, 1, 160))


def _dense() -> Exportable:
    """Layers with normalisation between, and the logarithm of a softmax."""
    module = nn.Sequential(nn.Linear(16, 32), nn.LayerNorm(32), nn.Mish(), nn.Linear(32, 32), nn.PReLU(),
                           nn.Linear(32, 10), nn.LogSoftmax(-1))  # fmt: skip
    return _made(module, {"input": _FREE}, input=rows(4, 16))


def _export(made: Exportable, target: Path, *, dynamo: bool, dynamic: bool) -> None:
    names = [f"output_{place}" for place in range(len(made.outputs))]
    inputs = tuple(torch.from_numpy(array) for array in made.inputs.values())
    more: dict[str, Any] = {"opset_version": 18 if dynamo else 17}
    if dynamic and dynamo:
        more["dynamic_shapes"] = tuple(
            dict.fromkeys(made.free.get(name, {}), torch.export.Dim.DYNAMIC) for name in made.inputs
        )
        if isinstance(made.network, _Of):
            more["dynamic_shapes"] = (more["dynamic_shapes"],)
    elif dynamic:
        more["dynamic_axes"] = {name: dict(places) for name, places in made.free.items()}
    if dynamo:
        more["external_data"] = False
    torch.onnx.export(
        made.network, inputs, str(target), input_names=list(made.inputs), output_names=names, dynamo=dynamo, **more
    )


_EXPORTERS: dict[str, Export] = {
    "torch dynamo": partial(_export, dynamo=True, dynamic=False),
    "torch dynamo, dynamic": partial(_export, dynamo=True, dynamic=True),
    "torch TorchScript": partial(_export, dynamo=False, dynamic=False),
    "torch TorchScript, dynamic": partial(_export, dynamo=False, dynamic=True),
}
FRAMEWORK = Framework(
    networks={
        "residual": _residual,
        "mobile": _mobile,
        "encoder": _encoder,
        "decoder": _decoder,
        "lstm": partial(_recurrent, nn.LSTM),
        "gru": partial(_recurrent, nn.GRU),
        "upsampling": _upsampling,
        "chosen": _chosen,
        "waves": _waves,
        "dense": _dense,
    },
    exporters=_EXPORTERS,
    packages=("torch", "onnxscript"),
)
